import ArgumentParser

/// Where a cluster's journal is, and who comes to it.
struct ClusterPlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The servers of NATS that keep a cluster's messages: nats://host:port,… or tls://…; see docs/cluster.md.",
            valueName: "url"))
    var log: String?
    @Option(
        help: ArgumentHelp("Which cluster there. (default: reprise)", valueName: "name"))
    var cluster: String?
    @Option(help: ArgumentHelp("The user in NATS, with --log-password-file.", valueName: "name"))
    var logUser: String?
    @Option(help: ArgumentHelp("Holds the user's password.", valueName: "file"))
    var logPasswordFile: String?
    @Option(help: ArgumentHelp("Holds a token.", valueName: "file"))
    var logTokenFile: String?
    @Option(help: ArgumentHelp("Holds the seed of a user's key, SU…", valueName: "file"))
    var logNkey: String?
    @Option(help: ArgumentHelp("Credentials as `nsc` makes them.", valueName: "file"))
    var logCreds: String?
    @Option(help: ArgumentHelp("The authority of NATS' certificates, in PEM.", valueName: "file"))
    var logCa: String?
    @Option(
        help: ArgumentHelp("This server's certificate for NATS, in PEM.", valueName: "file"))
    var logCert: String?
    @Option(help: ArgumentHelp("The key of that certificate, in PEM.", valueName: "file"))
    var logCertKey: String?

    /// Refuses a command line without `--log`, for commands that need a cluster.
    func requireLog() throws {
        guard log != nil else { throw ValidationError("Give --log nats://HOST:PORT.") }
    }

    var flags: ClusterFlags {
        var flags = ClusterFlags()
        flags.log = log
        flags.cluster = cluster
        flags.user = logUser
        flags.passwordFile = logPasswordFile
        flags.tokenFile = logTokenFile
        flags.key = logNkey
        flags.credentials = logCreds
        flags.authorities = logCa
        flags.certificate = logCert
        flags.certificateKey = logCertKey
        return flags
    }
}

/// The flags of `reprise serve` about a cluster.
struct ClusterOptions: ParsableArguments {
    @OptionGroup var place: ClusterPlaceOptions
    @Option(
        help: ArgumentHelp(
            "The journal's most bytes on each server of NATS, when it is made. (default: 8 GiB)",
            valueName: "count"))
    var journalBytes: Int?
    @Option(
        help: ArgumentHelp(
            "Within how many hours a deleted text is gone from the journal too. (default: 24)",
            valueName: "hours"))
    var eraseWithin: Int?

    var flags: ClusterFlags {
        var flags = place.flags
        flags.journalBytes = journalBytes
        flags.eraseWithin = eraseWithin
        return flags
    }
}
