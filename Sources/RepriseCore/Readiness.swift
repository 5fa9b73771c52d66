/// A named condition that must hold before an entry may be dispatched.
///
/// ```swift
/// extension Readiness { static let cart = Readiness("cart") }
/// reprise.setReady(.cart)
/// ```
///
/// A signal opens it, and the loss of the condition closes it; never a wait.
public struct Readiness: Hashable, Sendable, CustomStringConvertible {
    /// The name: at most 64 bytes.
    public let name: String

    /// Makes a condition of the app's own.
    public init(_ name: String) { self.name = name }

    /// The name.
    public var description: String { name }
}

extension Readiness {
    /// The journal is open and writable.
    public static let journal = Readiness("journal")
    /// The SDK is configured.
    public static let sdk = Readiness("sdk")
    /// An account is signed in and the server has accepted it.
    public static let session = Readiness("session")
    /// The app's own store is loaded.
    public static let store = Readiness("store")
    /// The web view exists.
    public static let webView = Readiness("webView")
    /// The web view's page has answered the handshake.
    public static let handshake = Readiness("handshake")
    /// The page has its form catalogue.
    public static let formsData = Readiness("formsData")
    /// A screen can be shown.
    public static let ui = Readiness("ui")
}
