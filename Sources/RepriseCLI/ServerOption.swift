import ArgumentParser
import Foundation
import RepriseCore
import RepriseNIO

/// Where the server is, for every command that talks to one.
struct ServerOption: ParsableArguments {
    @Option(
        name: .customLong("server"),
        help: ArgumentHelp(
            "Where the server is. (default: $REPRISE_SERVER, else http://127.0.0.1:8080)",
            valueName: "url"))
    var given: String?

    var url: String {
        let url =
            given ?? ProcessInfo.processInfo.environment["REPRISE_SERVER"]
            ?? "http://127.0.0.1:8080"
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
