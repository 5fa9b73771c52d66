// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Foundation has on Apple systems alone, as far as RepriseApple uses it; nothing here does
// anything. Each type names its page below https://developer.apple.com/documentation/foundation.
import Foundation
import FoundationNetworking

// /urlsessionconfiguration (2026-11-24)
extension URLSessionConfiguration {
    class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        fatalError()
    }
    var waitsForConnectivity: Bool {
        get { fatalError() }
        set { fatalError() }
    }
    var sessionSendsLaunchEvents: Bool {
        get { fatalError() }
        set { fatalError() }
    }
}

// /urlrequest (2026-11-24)
extension URLRequest {
    var allowsExpensiveNetworkAccess: Bool {
        get { fatalError() }
        set { fatalError() }
    }
    var allowsConstrainedNetworkAccess: Bool {
        get { fatalError() }
        set { fatalError() }
    }
}

// /urlsession (2026-11-24)
extension URLSession {
    struct AsyncBytes: AsyncSequence, Sendable {
        struct AsyncIterator: AsyncIteratorProtocol {
            mutating func next() async throws -> UInt8? { fatalError() }
        }
        var task: URLSessionDataTask { fatalError() }
        func makeAsyncIterator() -> AsyncIterator { fatalError() }
    }
    func bytes(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) { fatalError() }
    var allTasks: [URLSessionTask] { get async { fatalError() } }
}

// /urlresourcekey (2026-11-26)
extension URLResourceKey {
    static var volumeAvailableCapacityForOpportunisticUsageKey: URLResourceKey { fatalError() }
}

// /urlresourcevalues (2026-11-24)
extension URLResourceValues {
    var volumeAvailableCapacityForOpportunisticUsage: Int64? { fatalError() }
}

// /notificationcenter (2026-11-24)
extension NotificationCenter {
    struct Notifications: AsyncSequence {
        struct AsyncIterator: AsyncIteratorProtocol {
            mutating func next() async -> Notification? { fatalError() }
        }
        func makeAsyncIterator() -> AsyncIterator { fatalError() }
    }
    func notifications(named name: Notification.Name, object: AnyObject? = nil) -> Notifications {
        fatalError()
    }
}

@available(*, unavailable)
extension NotificationCenter.Notifications.AsyncIterator: Sendable {}

// /url (2026-11-24)
extension URL { static var documentsDirectory: URL { fatalError() } }

// /filemanager/containerurl(forsecurityapplicationgroupidentifier:) (2026-11-24)
extension FileManager {
    nonisolated func containerURL(forSecurityApplicationGroupIdentifier group: String) -> URL? {
        fatalError()
    }
}
