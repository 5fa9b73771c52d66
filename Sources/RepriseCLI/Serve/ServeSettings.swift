import Configuration
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import RepriseServer
import Synchronization

/// The settings of `reprise serve`: flags before environment before file before defaults.
struct ServeSettings: Sendable {
    /// The command line's options.
    struct Flags: Sendable {
        var host: String?
        var port: Int?
        var data: String?
        var keepMessages: Int?
        var keepDays: Int?
        var backups: String?
        var isDevelopment: Bool?
        var keys: String?
        var jwks: String?
        var audience: String?
        var tlsCertificate: String?
        var tlsKey: String?
        var origins: [String] = []
        var connectionsPerUser: Int?
        var connectionsPerAddress: Int?
        var publishesPerSecond: Int?
        var hasPresence: Bool?
        var push = PushFlags()
        var cluster = ClusterFlags()
        var logLevel: String?
    }

    let host: String
    let port: Int
    let data: String
    let keepMessages: Int?
    let keepDays: Int?
    let backups: String?
    let isDevelopment: Bool
    let access: Access
    let audience: String
    let tls: TLSFiles?
    let origins: [String]
    let connectionsPerUser: Int?
    let connectionsPerAddress: Int?
    let publishesPerSecond: Int?
    let hasPresence: Bool
    let push: PushConfiguration
    /// Nil if the messages are in `data`.
    let cluster: ClusterSettings?
    let logLevel: Logger.Level

    /// Reads the settings.
    ///
    /// - Parameters:
    ///   - flags: the command line's options.
    ///   - environment: variables that begin with `REPRISE_` count.
    ///   - file: the path of a JSON file.
    /// - Throws: ``RepriseError`` `.badConfiguration`; ``CommandFailure`` `.noInput`.
    init(flags: Flags, environment: [String: String], file: String?) async throws {
        let faults = Faults()
        var providers: [any ConfigProvider] = [
            flags.provider,
            EnvironmentVariablesProvider(environmentVariables: environment)
                .prefixKeys(with: "reprise"),
        ]
        if let file { providers.append(try await Self.provider(file)) }
        let reader = ConfigReader(providers: providers, accessReporter: faults)
        host = reader.string(forKey: "host", default: "127.0.0.1")
        port = reader.int(forKey: "port", default: 8_080)
        data = reader.string(forKey: "data", default: "reprise-data")
        keepMessages = reader.int(forKey: "keepMessages")
        keepDays = reader.int(forKey: "keepDays")
        backups = reader.string(forKey: "backups")
        isDevelopment = reader.bool(forKey: "dev", default: false)
        audience = reader.string(forKey: "audience", default: "reprise")
        connectionsPerUser = reader.int(forKey: "connectionsPerUser")
        connectionsPerAddress = reader.int(forKey: "connectionsPerAddress")
        publishesPerSecond = reader.int(forKey: "publishesPerSecond")
        origins = reader.stringArray(forKey: "origins", default: [])
        hasPresence = reader.bool(forKey: "presence", default: false)
        let keys = reader.string(forKey: "keys")
        let jwks = reader.string(forKey: "jwks")
        let certificate = reader.string(forKey: "tlsCert")
        let key = reader.string(forKey: "tlsKey")
        let push = PushFlags(reader)
        let cluster = ClusterFlags(reader)
        let level = reader.string(forKey: "logLevel", default: isDevelopment ? "info" : "notice")
        if let fault = faults.first { throw fault }
        logLevel = try Self.level(level)
        access = try Self.access(keys, jwks, isDevelopment)
        tls = try Self.tls(certificate, key)
        self.push = try push.configuration
        self.cluster = try ClusterSettings(cluster, access, data: data)
        try check()
    }

    var configuration: ServerConfiguration {
        var configuration = ServerConfiguration(host: host, port: port, data: data)
        configuration.keptMessages = keepMessages.map(Int64.init)
        configuration.keptFor = keepDays.map { .seconds($0 * 86_400) }
        configuration.backups = backups
        configuration.access = access
        configuration.audience = audience
        configuration.tls = tls
        configuration.origins = origins
        configuration.push = push
        configuration.presence = hasPresence
        if let connectionsPerUser { configuration.limits.connectionsPerUser = connectionsPerUser }
        if let connectionsPerAddress {
            configuration.limits.httpConnectionsPerAddress = connectionsPerAddress
        }
        if let publishesPerSecond { configuration.limits.publishesPerSecond = publishesPerSecond }
        return configuration
    }

    /// Whether only this machine can reach the server.
    var isLoopback: Bool { LoopbackName.isOne(host) }

    private static func access(
        _ keys: String?, _ jwks: String?, _ isDevelopment: Bool
    ) throws -> Access {
        switch (keys, jwks, isDevelopment) {
        case (nil, nil, false): return .open
        case (nil, nil, true): return .tokens(.development)
        case (let path?, nil, false): return .tokens(.file(path))
        case (nil, let url?, false): return .tokens(.jwks(url))
        default:
            throw RepriseError(
                .badConfiguration, "Keys come from one place: --keys, --jwks or --dev.",
                remedy: "Leave out all but one; look at the environment and the file too.")
        }
    }

    private static func tls(_ certificate: String?, _ key: String?) throws -> TLSFiles? {
        switch (certificate, key) {
        case (nil, nil): return nil
        case (let certificate?, let key?): return TLSFiles(certificate: certificate, key: key)
        default:
            throw RepriseError(
                .badConfiguration, "TLS needs a certificate and its key.",
                remedy: "Give both --tls-cert and --tls-key, or neither.")
        }
    }

    private func check() throws {
        guard (0...65_535).contains(port) else {
            throw RepriseError(.badConfiguration, "The port is 0 to 65535, not \(port).")
        }
        for (name, value) in [("keepMessages", keepMessages), ("keepDays", keepDays)] {
            guard let value, !(1...1_000_000_000).contains(value) else { continue }
            throw RepriseError(
                .badConfiguration, "\(name) is between 1 and 1000000000, not \(value).",
                remedy: "Leave it out to keep everything.")
        }
        for (name, value) in [
            ("connectionsPerUser", connectionsPerUser),
            ("connectionsPerAddress", connectionsPerAddress),
            ("publishesPerSecond", publishesPerSecond),
        ] {
            guard let value, !(1...1_000_000).contains(value) else { continue }
            throw RepriseError(
                .badConfiguration, "\(name) is between 1 and 1000000, not \(value).")
        }
        guard !host.isEmpty, !data.isEmpty else {
            throw RepriseError(.badConfiguration, "Neither host nor data may be empty.")
        }
        guard !audience.isEmpty else {
            throw RepriseError(.badConfiguration, "The audience may not be empty.")
        }
        if cluster != nil {
            guard backups == nil else {
                throw RepriseError(
                    .badConfiguration, "A cluster's backup is its journal: there is no --backups.",
                    remedy: "Leave out --backups, or --log.")
            }
        }
        try configuration.check()
    }

    private static func level(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else {
            throw RepriseError(
                .badConfiguration, "There is no log level \(text).",
                remedy: "Use trace, debug, info, notice, warning, error or critical.")
        }
        return level
    }

    // MARK: The file

    private static let keys = Set([
        "host", "port", "data", "keepMessages", "keepDays", "dev", "logLevel",
        "keys", "jwks", "audience", "tlsCert", "tlsKey", "origins",
        "connectionsPerUser", "connectionsPerAddress", "publishesPerSecond", "backups",
        "presence",
    ]).union(PushFlags.names).union(ClusterFlags.names)

    private static func provider(_ path: String) async throws -> any ConfigProvider {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(
                .noInput,
                "The configuration \(path) cannot be read. Check the path and its permissions.")
        }
        guard let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            throw RepriseError(
                .badConfiguration, "The configuration \(path) is not a JSON object.",
                remedy: #"It looks like {"port": 8080}."#)
        }
        // An ignored setting would mislead its author.
        if let unknown = object.keys.filter({ !keys.contains($0) }).min() {
            throw RepriseError(
                .badConfiguration, "The configuration \(path) has an unknown setting, \(unknown).",
                remedy: "Known are \(keys.sorted().joined(separator: ", ")).")
        }
        // The reader takes it for none: without keys the server would ask nobody who he is.
        let unusable = object.filter { $0.value is NSNull || $0.value is [String: Any] }
        if let name = unusable.keys.min() {
            throw RepriseError(
                .badConfiguration, "The setting \(name) has no usable value in \(path).",
                remedy: "Give it one, or leave it out.")
        }
        do {
            // By a reader, because FilePath is another module on each platform.
            let place = InMemoryProvider(values: [
                "filePath": ConfigValue(.string(path), isSecret: false)
            ])
            return try await FileProvider<JSONSnapshot>(config: ConfigReader(provider: place))
        } catch {
            throw RepriseError(
                .badConfiguration, "The configuration \(path) cannot be used.", cause: error)
        }
    }
}

extension ServeSettings.Flags {
    fileprivate var provider: InMemoryProvider {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        if let host { values["host"] = ConfigValue(.string(host), isSecret: false) }
        if let port { values["port"] = ConfigValue(.int(port), isSecret: false) }
        if let data { values["data"] = ConfigValue(.string(data), isSecret: false) }
        if let keepMessages {
            values["keepMessages"] = ConfigValue(.int(keepMessages), isSecret: false)
        }
        if let keepDays { values["keepDays"] = ConfigValue(.int(keepDays), isSecret: false) }
        if let isDevelopment { values["dev"] = ConfigValue(.bool(isDevelopment), isSecret: false) }
        if let hasPresence { values["presence"] = ConfigValue(.bool(hasPresence), isSecret: false) }
        let texts = [
            "keys": keys, "jwks": jwks, "audience": audience, "tlsCert": tlsCertificate,
            "tlsKey": tlsKey, "backups": backups,
        ]
        for case (let name, let text?) in texts {
            values[AbsoluteConfigKey([name])] = ConfigValue(.string(text), isSecret: false)
        }
        let numbers = [
            "connectionsPerUser": connectionsPerUser,
            "connectionsPerAddress": connectionsPerAddress,
            "publishesPerSecond": publishesPerSecond,
        ]
        for case (let name, let number?) in numbers {
            values[AbsoluteConfigKey([name])] = ConfigValue(.int(number), isSecret: false)
        }
        if !origins.isEmpty {
            values["origins"] = ConfigValue(.stringArray(origins), isSecret: false)
        }
        for (name, value) in push.values + cluster.values {
            values[AbsoluteConfigKey([name])] = ConfigValue(value, isSecret: false)
        }
        if let logLevel { values["logLevel"] = ConfigValue(.string(logLevel), isSecret: false) }
        return InMemoryProvider(name: "flags", values: values)
    }
}

/// Notes values that could not be used: the reader itself falls back to the default without a word.
private final class Faults: AccessReporter {
    private let faults = Mutex<[RepriseError]>([])

    var first: RepriseError? { faults.withLock { $0.first } }

    func report(_ event: AccessEvent) {
        let isUnusable =
            event.conversionError != nil
            || event.providerResults.contains {
                if case .failure = $0.result { true } else { false }
            }
        guard isUnusable else { return }
        let key = event.metadata.key.components.joined(separator: ".")
        let type =
            switch event.metadata.valueType {
            case .int: "a whole number"
            case .bool: "true or false"
            case .stringArray: "a list of texts"
            default: "a text"
            }
        let error = RepriseError(
            .badConfiguration, "The setting \(key) is not \(type).",
            remedy: "Look at the environment and the file; `reprise serve --help` has the names.")
        faults.withLock { $0.append(error) }
    }
}
