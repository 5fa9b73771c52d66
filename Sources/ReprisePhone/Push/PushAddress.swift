import Foundation
import RepriseCore
import RepriseJournal

extension PushEndpoint {
    /// The address for a phone's pushes, as written in its folder.
    public struct Address: Hashable, Sendable, Codable {
        /// Without a path: `http://127.0.0.1:…`.
        public let url: String
        /// Makes this device's tokens unique; random, constant for the device's life.
        let device: String

        /// Reads the address in a phone's folder; nil if it never had an endpoint.
        ///
        /// - Parameter folder: the phone's.
        public init?(in folder: PhoneFolder) {
            guard let bytes = try? DurableFile.read(folder.pushes, limit: 4_096),
                let address = try? ForeignJSON.decode(Self.self, from: bytes)
            else { return nil }
            self = address
        }

        init(port: Int, device: String) {
            url = "http://127.0.0.1:\(port)"
            self.device = device
        }

        /// The port that it had.
        var port: Int? { url.split(separator: ":").last.flatMap { Int($0) } }

        /// Writes it to the folder.
        func write(to folder: PhoneFolder) throws {
            try DurableFile.write(PhoneJSON.encode(self), to: folder.pushes)
        }

        /// The token to which an app's pushes are sent.
        ///
        /// - Parameter app: its id.
        /// - Returns: 64 hexadecimal digits.
        public func token(of app: String) -> String {
            ["a", "b"].map { EntryID.hash(of: "\($0)\u{0}\(device)\u{0}\(app)", prefix: "").text }
                .joined()
        }
    }
}

extension PhoneFolder {
    var pushes: String { url.appendingPathComponent("pushes.json").path }
}
