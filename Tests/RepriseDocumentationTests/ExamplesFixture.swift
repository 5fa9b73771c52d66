import Foundation
import Reprise
import RepriseCore

/// What the examples of the documents are given: an app's own parts, of which only the types
/// matter.
struct ExamplesFixture: Sendable {
    let folder: URL
    let server: String
    let dialer: any SocketDialer
    let transport: any HTTPTransport
    let webViews: any WebViewHost
    let notifications: any UserNotifications
    let network: any NetworkStatus
    let router: any Router
    let store: any ExamplesStore
    let backend: any Backend
}

/// An app's own way to its screens.
protocol Router: Sendable {
    func open(_ url: String) async
    func open(_ route: Route?, _ resolution: Resolution) async
}

/// An app's own store.
protocol ExamplesStore: Sendable {
    func save(_ body: [UInt8], id: EntryID) async throws
    func save(_ json: String, id: EntryID) async throws
}

/// What gives an app its tokens.
protocol Backend: Sendable {
    func token(for origin: String) async throws -> String
}

/// The body of the examples' messages.
nonisolated struct Note: Codable, Sendable {
    var text: String
}
