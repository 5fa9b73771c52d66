import Foundation
import RepriseCore

/// A server's access to the push services of browsers.
public struct WebPushSettings: Hashable, Sendable {
    /// The path of a private key on P-256, in PEM; browsers subscribe with its public half.
    public var keyFile: String
    /// `mailto:` or `https:`, the contact for operators of push services.
    public var subject: String
    /// Whether loopback and private endpoints are allowed, and over `http`.
    public var allowsPrivate = false
    /// A PEM file of authorities, for a test service; nil trusts the system's.
    public var authorities: String?

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - keyFile: the path of a private key on P-256, in PEM.
    ///   - subject: `mailto:` or `https:`, the contact for operators of push services.
    public init(keyFile: String, subject: String) {
        self.keyFile = keyFile
        self.subject = subject
    }

    /// Refuses invalid settings, without reading a file.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, with a remedy.
    public func check() throws {
        guard subject.hasPrefix("mailto:") || subject.hasPrefix("https://"),
            subject.utf8.count <= 256, URL(string: subject) != nil
        else {
            throw RepriseError(
                .badConfiguration, "The subject of Web Push is a mailto: or an https: URL.",
                remedy: "It looks like mailto:push@example.org.")
        }
    }
}
