public import Foundation

/// The folder of a phone: its socket, its state, its log, the data of its apps.
public struct PhoneFolder: Hashable, Sendable {
    /// The folder.
    public let url: URL

    /// Names a folder, without access to it.
    public init(_ url: URL) { self.url = url.standardizedFileURL }

    /// The socket for all peers.
    public var socket: String { file("phone.sock") }
    package var lock: String { file("phone.lock") }
    package var state: String { file("state.json") }
    package func log(_ half: Int) -> String { file("log-\(half).jsonl") }

    /// The system's downloaded files.
    package var transfers: URL { url.appendingPathComponent("transfers") }
    package func transfer(_ number: Int) -> URL {
        transfers.appendingPathComponent("\(number)")
    }

    /// The data folder of an app.
    ///
    /// - Parameter app: its id.
    /// - Returns: the folder.
    public func data(of app: String) -> URL {
        url.appendingPathComponent("apps").appendingPathComponent(app)
    }

    /// An app's files that cannot be read before the first unlock, while that is awaited.
    package func locked(of app: String) -> URL {
        url.appendingPathComponent("locked").appendingPathComponent(app)
    }

    /// The output of an app's newest process, at most 1 MiB.
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
    /// The token that authenticates a process; valid for one connection.
    package static let token = "REPRISE_PHONE_TOKEN"
}
