import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// Identity options, for every command that talks to a server.
struct IdentityOption: ParsableArguments {
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The user; a --dev server issues the token.", valueName: "user"))
    var user: String?
    @Option(
        help: ArgumentHelp("The token of the user, a JSON Web Token. (default: $REPRISE_TOKEN)"))
    var token: String?

    private var given: String? {
        if let token { return token }
        guard user == nil else { return nil }
        return ProcessInfo.processInfo.environment["REPRISE_TOKEN"].flatMap {
            $0.isEmpty ? nil : $0
        }
    }

    func validate() throws {
        guard user == nil || token == nil else {
            throw ValidationError("Give --as or --token, not both.")
        }
        do {
            if let user { _ = try UserID(user) }
            if let given { _ = try AccessToken(given) }
        } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
    }

    /// - Throws: ``RepriseError`` `.malformed`.
    func caller(at server: ServerOption) throws -> Caller {
        Caller(server: server.url, source: try source(), authorities: server.authorities)
    }

    private func source() throws -> Caller.Source {
        if let given { return .token(try AccessToken(given)) }
        if let user { return .development(try UserID(user)) }
        return .nobody
    }
}
