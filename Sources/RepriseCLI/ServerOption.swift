import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseNIO

/// The server's address, for every command that connects to one.
struct ServerOption: ParsableArguments {
    @Option(
        name: .customLong("server"),
        help: ArgumentHelp(
            "Where the server is. (default: $REPRISE_SERVER, else http://127.0.0.1:8080)",
            valueName: "url"))
    var given: String?

    @Option(
        name: .customLong("authorities"),
        help: ArgumentHelp(
            "Certificates in PEM whose owners are trusted beside those of the system. (default: $REPRISE_AUTHORITIES)",
            valueName: "file"))
    var givenAuthorities: String?

    var authorities: String? {
        let file = givenAuthorities ?? ProcessInfo.processInfo.environment["REPRISE_AUTHORITIES"]
        return file?.isEmpty == true ? nil : file
    }

    /// Opens connections to it.
    var dialer: NIODialer { NIODialer(authorities: authorities) }

    var url: String {
        let environment = ProcessInfo.processInfo.environment["REPRISE_SERVER"] ?? ""
        let url = given ?? (environment.isEmpty ? "http://127.0.0.1:8080" : environment)
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }

    func validate() throws {
        do { _ = try Endpoint(url) } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
    }
}

extension ArgumentHelp {
    /// The rule for names, where one is asked for.
    static let channel = ArgumentHelp(
        "The channel: 1 to 128 letters, digits or . _ : -, the first a letter or a digit.")
}
