public import Foundation

/// Where a phone keeps everything: its socket, its state, its log, the data of its apps.
public struct PhoneFolder: Hashable, Sendable {
    /// The folder.
    public let url: URL

    /// Names a folder; looks at nothing.
    public init(_ url: URL) { self.url = url.standardizedFileURL }

    /// The socket that everybody talks to.
    public var socket: String { file("phone.sock") }
    package var lock: String { file("phone.lock") }
    package var state: String { file("state.json") }
    package func log(_ half: Int) -> String { file("log-\(half).jsonl") }

    /// Where the system keeps what it has downloaded.
    package var transfers: URL { url.appendingPathComponent("transfers") }
    package func transfer(_ number: Int) -> URL {
        transfers.appendingPathComponent("\(number)")
    }

    /// Where an app keeps its data.
    ///
    /// - Parameter app: its id.
    /// - Returns: the folder.
    public func data(of app: String) -> URL {
        url.appendingPathComponent("apps").appendingPathComponent(app)
    }

    /// What an app's newest process has printed, at most 1 MiB of it.
    ///
    /// - Parameter app: its id.
    /// - Returns: the file.
    public func output(of app: String) -> URL {
        url.appendingPathComponent("apps").appendingPathComponent(app + ".out")
    }

    private func file(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// The variables that a launched process finds in its environment.
package enum PhoneEnvironment {
    /// The phone's socket.
    package static let socket = "REPRISE_PHONE"
    /// What it says who it is with; good for one connection.
    package static let token = "REPRISE_PHONE_TOKEN"
}
