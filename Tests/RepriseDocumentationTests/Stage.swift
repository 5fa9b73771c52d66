import Foundation
import Reprise
import RepriseCore

/// What the examples of the documents are given: an app's own parts, of which only the types matter.
struct Stage: Sendable {
    let folder: URL
    let server: String
    let dialer: any SocketDialer
    let fetcher: any HTTPFetcher
    let webViews: any WebViewHost
    let notifications: any UserNotifications
    let scheduler: any BackgroundScheduler
    let network: any NetworkStatus
    let screen: any Screen
    let router: any Router
    let store: any Store
    let api: any API
    let backend: any Backend
}

/// What an app shows.
protocol Screen: Sendable {
    func show(_ message: Message) async
    func show(_ text: String) async
    func askToSignIn(because reason: String) async
}

/// An app's own way to its screens.
protocol Router: Sendable {
    func open(_ url: String) async
    func open(_ route: Route?, _ resolution: Resolution) async
}

/// An app's own store.
protocol Store: Sendable {
    func save(_ body: [UInt8], id: EntryID) async throws
    func add(_ id: EntryID, _ json: String) async throws
    func replace(_ sequence: Int64, with json: String) async throws
    func remove(_ sequence: Int64) async throws
    func apply(_ sequence: Int64, _ json: String) async throws
    func replaceAll(with state: String, at position: Int64) async throws
}

/// An app's own server.
protocol API: Sendable {
    func state(of channel: ChannelName) async throws -> String
}

/// What gives an app its tokens.
protocol Backend: Sendable {
    func token(for user: UserID?, fresh: Bool) async throws -> String
    func token(for origin: String) async throws -> String
}
