import Foundation
import RepriseCore

/// How a server reaches the push services of browsers.
public struct WebPushSettings: Hashable, Sendable {
    /// The path of a private key on P-256, in PEM: what browsers subscribe with is its public half.
    public var keyFile: String
    /// `mailto:` or `https:`, by which those who run push services reach you.
    public var subject: String
    /// Whether endpoints on this machine and in private networks are allowed, and over `http`.
    public var allowsPrivate = false
    /// A PEM file of authorities, for a stand-in; nil trusts those of the system.
    public var authorities: String?

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - keyFile: the path of a private key on P-256, in PEM.
    ///   - subject: `mailto:` or `https:`, by which those who run push services reach you.
    public init(keyFile: String, subject: String) {
        self.keyFile = keyFile
        self.subject = subject
    }

    /// Refuses what cannot be right, without reading a file.
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
