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
    var eraseWithin: Int?

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
        eraseWithin = reader.int(forKey: "eraseWithin")
    }

    static let names: Set<String> = [
        "log", "cluster", "logUser", "logPasswordFile", "logTokenFile", "logNkey", "logCreds",
        "logCa", "logCert", "logCertKey", "journalBytes", "eraseWithin",
    ]

    /// The given values, by the names of the file.
    var values: [(String, ConfigContent)] {
        [
            ("log", log), ("cluster", cluster), ("logUser", user),
            ("logPasswordFile", passwordFile), ("logTokenFile", tokenFile), ("logNkey", key),
            ("logCreds", credentials), ("logCa", authorities), ("logCert", certificate),
            ("logCertKey", certificateKey),
        ].compactMap { name, text in text.map { (name, .string($0)) } }
            + [("journalBytes", journalBytes), ("eraseWithin", eraseWithin)]
            .compactMap { name, count in count.map { (name, .int($0)) } }
    }

    /// Whether anything but the address is given.
    var isMore: Bool { !values.allSatisfy { $0.0 == "log" } }
}
