import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseServer
import RepriseWire

/// `reprise token`: prints a token.
struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Print a token for a user.",
        usage: """
            reprise token --as USER [--admin] [--expires TIME] [--server URL]
            reprise token --as USER [--admin] [--expires TIME] --keys FILE
                          [--audience NAME]
            """,
        discussion: """
            Requests one from a server with --dev on this machine, valid for a day at
            most. With --keys it signs one itself: FILE holds a secret in base64 or a
            private key, as for `reprise serve --keys`.

            A token is a secret, printed on standard output alone. With --as USER the
            other commands request their own from a --dev server.

            EXAMPLES
              reprise token --as ada
              reprise token --as root --admin --expires 10m
              openssl rand -base64 32 > secret && chmod 600 secret
              reprise token --as ada --keys secret --expires 30d
              curl -H "Authorization: Bearer $(reprise token --as ada)" \\
                   http://127.0.0.1:8080/v1/me

            EXIT CODES
              0 printed; 65 USER is not a name; 69 no server answers; 76 the server is
              not one for development; 78 the keys cannot be used.
              All: reprise --help
            """)

    @Option(name: .customLong("as"), help: ArgumentHelp("For whom.", valueName: "user"))
    var user: String
    @Flag(help: "It manages every channel, and may publish anywhere.") var admin = false
    @Option(
        help: ArgumentHelp(
            "How long it counts: 90s, 15m, 1h, 30d.", valueName: "time"))
    var expires: Lifetime = Lifetime(seconds: 3_600)
    @Option(help: ArgumentHelp("Sign it with this key.", valueName: "file")) var keys: String?
    @Option(help: ArgumentHelp("Its aud, with --keys. (default: reprise)", valueName: "name"))
    var audience: String?
    @OptionGroup var server: ServerOption

    func validate() throws {
        guard keys != nil || audience == nil else {
            throw ValidationError("--audience goes with --keys; a server knows its own.")
        }
        guard keys != nil || .seconds(expires.seconds) <= AccessLimits.developmentToken else {
            throw ValidationError(
                "A --dev server gives a token for a day at most: ask for less, or sign one with "
                    + "--keys.")
        }
    }

    func run() async throws {
        let user = try UserID(user)
        try StandardOutput.write(try await token(for: user).secret)
    }

    private func token(for user: UserID) async throws -> AccessToken {
        if let keys {
            guard let key = try await KeyFile.read(keys).keys.first(where: \.canSign) else {
                throw RepriseError(
                    .badConfiguration, "\(keys) holds no key that can make tokens.",
                    remedy: "Give the private key, or the secret.")
            }
            return try TokenIssuer(key: key, audience: audience ?? "reprise").token(
                for: user, isAdmin: admin, now: SystemTimekeeper().wall(),
                lifetime: .seconds(expires.seconds))
        }
        let token = try await DevToken.fetch(
            server: server.url, user: user, isAdmin: admin, seconds: expires.seconds,
            authorities: server.authorities)
        guard let token else {
            guard LoopbackName.isOne(try Endpoint(server.url).host) else {
                throw RepriseError(
                    .refused,
                    "\(server.url) was not asked: "
                        + "only a --dev server on this machine gives tokens.",
                    remedy: "Sign one with --keys FILE.")
            }
            throw RepriseError(
                .refused, "The server at \(server.url) is not one for development.",
                remedy: "Start it with --dev, or sign a token with --keys FILE.")
        }
        return token
    }
}

/// A length of time as people type it.
struct Lifetime: ExpressibleByArgument, Sendable {
    /// A hundred years; more is a slip of the finger.
    private static let longest = 3_153_600_000
    private static let units = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]

    let seconds: Int

    /// As one would type it, in the largest unit that has no remainder.
    var defaultValueDescription: String {
        let unit = Self.units.filter { seconds % $0.value == 0 }.max { $0.value < $1.value }
        return unit.map { "\(seconds / $0.value)\($0.key)" } ?? "\(seconds)s"
    }

    init(seconds: Int) { self.seconds = seconds }

    init?(argument: String) {
        guard let unit = argument.last.flatMap({ Self.units[String($0)] }),
            let count = Int(argument.dropLast()), count > 0, count <= Self.longest / unit
        else { return nil }
        seconds = count * unit
    }
}
