import Configuration

/// The settings of a gateway in a cluster; of secrets only the paths.
struct ClusterFlags: Sendable {
    var log: String?
    var cluster: String?
    var user: String?
    var passwordFile: String?
    var tokenFile: String?
    var key: String?
    var credentials: String?
    var authorities: String?
    var certificate: String?
    var certificateKey: String?
    var journalBytes: Int?

    init() {}

    init(_ reader: ConfigReader) {
        log = reader.string(forKey: "log")
        cluster = reader.string(forKey: "cluster")
        user = reader.string(forKey: "logUser")
        passwordFile = reader.string(forKey: "logPasswordFile")
        tokenFile = reader.string(forKey: "logTokenFile")
        key = reader.string(forKey: "logNkey")
        credentials = reader.string(forKey: "logCreds")
        authorities = reader.string(forKey: "logCa")
        certificate = reader.string(forKey: "logCert")
        certificateKey = reader.string(forKey: "logCertKey")
        journalBytes = reader.int(forKey: "journalBytes")
    }

    static let names: Set<String> = [
        "log", "cluster", "logUser", "logPasswordFile", "logTokenFile", "logNkey", "logCreds",
        "logCa", "logCert", "logCertKey", "journalBytes",
    ]

    /// The given values, by the names of the file.
    var values: [(String, ConfigContent)] {
        [
            ("log", log), ("cluster", cluster), ("logUser", user),
            ("logPasswordFile", passwordFile), ("logTokenFile", tokenFile), ("logNkey", key),
            ("logCreds", credentials), ("logCa", authorities), ("logCert", certificate),
            ("logCertKey", certificateKey),
        ].compactMap { name, text in text.map { (name, .string($0)) } }
            + [journalBytes].compactMap { $0.map { ("journalBytes", .int($0)) } }
    }

    /// Whether anything but the address is given.
    var isMore: Bool { !values.allSatisfy { $0.0 == "log" } }
}
