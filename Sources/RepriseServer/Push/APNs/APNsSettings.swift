import Foundation
import RepriseCore

/// A server's access to Apple's push service.
public struct APNsSettings: Hashable, Sendable {
    /// Apple's environment: each knows only its own tokens.
    public enum Environment: Hashable, Sendable {
        /// For apps from the App Store and TestFlight.
        case production
        /// For apps installed by Xcode.
        case sandbox
        /// A test service: over https, or over http on this machine.
        case custom(String)
    }

    /// The path of the `.p8` file.
    public var keyFile: String
    /// The key's id of 10 characters.
    public var keyID: String
    /// The team's id of 10 characters.
    public var teamID: String
    /// The app's bundle id.
    public var topic: String
    /// Apple's environment.
    public var environment: Environment
    /// A PEM file of authorities, for a test service; nil trusts the system's.
    public var authorities: String?

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - keyFile: the path of the `.p8` file.
    ///   - keyID: the key's id of 10 characters.
    ///   - teamID: the team's id of 10 characters.
    ///   - topic: the app's bundle id.
    ///   - environment: Apple's environment.
    public init(
        keyFile: String, keyID: String, teamID: String, topic: String,
        environment: Environment = .production
    ) {
        self.keyFile = keyFile
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
        self.environment = environment
    }

    /// Refuses invalid settings, without reading a file.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, with a remedy.
    public func check() throws {
        for (name, text) in [("key id", keyID), ("team id", teamID)] {
            guard text.utf8.count == 10, text.utf8.allSatisfy(Self.isAlphanumeric) else {
                throw RepriseError(
                    .badConfiguration, "The \(name) of APNs has 10 letters and digits.",
                    remedy: "It stands in your developer account, beside the key or the name.")
            }
        }
        guard (1...255).contains(topic.utf8.count),
            topic.utf8.allSatisfy({ Self.isAlphanumeric($0) || $0 == 0x2d || $0 == 0x2e })
        else {
            throw RepriseError(
                .badConfiguration, "The topic of APNs is the bundle id of an app.",
                remedy: "It looks like org.example.chat.")
        }
        _ = try base()
    }

    /// The service's URL, without a trailing slash.
    func base() throws -> String {
        switch environment {
        case .production: return "https://api.push.apple.com"
        case .sandbox: return "https://api.sandbox.push.apple.com"
        case .custom(let text):
            guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty,
                url.path.isEmpty, url.query == nil, url.user == nil,
                url.scheme == "https" || url.scheme == "http" && LoopbackName.isOne(host)
            else {
                throw RepriseError(
                    .badConfiguration, "The environment of APNs is production or sandbox.",
                    remedy: "For a stand-in give its URL: https://localhost:8443.")
            }
            return text
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte)
            || (0x61...0x7a).contains(byte)
    }
}
