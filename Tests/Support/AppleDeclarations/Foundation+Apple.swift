// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Foundation has on Apple systems alone, as far as RepriseApple uses it; nothing here does
// anything. Each type names its page below https://developer.apple.com/documentation/foundation.
import Foundation
import FoundationNetworking

// /urlsessionconfiguration
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

// /urlrequest
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

// /urlsession
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

// /urlresourcekey
extension URLResourceKey {
    static var volumeAvailableCapacityForOpportunisticUsageKey: URLResourceKey { fatalError() }
}

// /urlresourcevalues
extension URLResourceValues {
    var volumeAvailableCapacityForOpportunisticUsage: Int64? { fatalError() }
}

// /notificationcenter
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

// /url
extension URL { static var documentsDirectory: URL { fatalError() } }

// /filemanager/containerurl(forsecurityapplicationgroupidentifier:)
extension FileManager {
    nonisolated func containerURL(forSecurityApplicationGroupIdentifier group: String) -> URL? {
        fatalError()
    }
}
