import Foundation
import Logging
import RepriseCore
import RepriseServer

#if Cluster
    import RepriseCluster
#endif

/// The journal that `--log` names, checked before anything is opened.
struct ClusterSettings: Sendable {
    /// The servers and the cluster, without what is secret: `chat at nats://n1:4222`.
    let description: String
    /// Opens the journal.
    let open: @Sendable (Logger) async throws -> any ClusterJournal
    /// When bases are made.
    let schedule: BaseKeeper.Schedule

    /// Nil without `--log`.
    ///
    /// - Parameters:
    ///   - flags: the settings.
    ///   - access: how users are authenticated.
    ///   - data: the folder of the view.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    init?(_ flags: ClusterFlags, _ access: Access, data: String) throws {
        guard let log = flags.log else {
            guard !flags.isMore else {
                throw RepriseError(
                    .badConfiguration, "What is said of a cluster needs its address.",
                    remedy: "Add --log nats://HOST:PORT, or leave out --cluster, --log-… and "
                        + "--journal-bytes.")
            }
            return nil
        }
        #if Cluster
            let (nats, cluster) = try Self.place(flags, log)
            var settings = NatsJournal.Settings(AccessMode(access))
            if let bytes = flags.journalBytes {
                settings.maxBytes = try Self.journalBytes(bytes)
            }
            var schedule = BaseKeeper.Schedule()
            if let hours = flags.eraseWithin {
                guard (1...8_760).contains(hours) else {
                    throw RepriseError(
                        .badConfiguration, "--erase-within is from 1 to 8760 hours, not \(hours).")
                }
                // What is deleted just after a base goes with the second one after it.
                schedule.every = .seconds(hours * 1_800)
            }
            self.schedule = schedule
            description = "\(cluster.text) at \(nats.description)"
            open = { [nats, settings] logger in
                // Before a journal is made under a name that is misspelt.
                try ViewCluster.expect(cluster, in: data)
                return try await NatsJournal.open(nats, cluster: cluster, settings, logger: logger)
            }
        #else
            throw RepriseError(
                .badConfiguration, "This reprise was built without NATS, which --log needs.",
                remedy: "Build it with `swift build --traits Cluster --product reprise`, after "
                    + "`make setup`: it needs the library nats.c.")
        #endif
    }

    #if Cluster
        static func journalBytes(_ bytes: Int) throws -> Int64 {
            guard bytes >= 64 << 20 else {
                throw RepriseError(
                    .badConfiguration, "A journal needs at least 67108864 bytes, not \(bytes).")
            }
            return Int64(bytes)
        }

        /// Where the journal is, and who comes to it.
        static func place(
            _ flags: ClusterFlags, _ log: String
        ) throws -> (NatsConfiguration, ClusterName) {
            let cluster = try ClusterName(flags.cluster ?? "reprise")
            var nats = try NatsConfiguration(log)
            if let credentials = try credentials(flags) { nats.credentials = credentials }
            nats.authorities = try flags.authorities.map { try readable($0) }
            nats.certificate = try certificate(flags)
            return (nats, cluster)
        }

        private static func credentials(
            _ flags: ClusterFlags
        ) throws -> NatsConfiguration.Credentials? {
            var given: [NatsConfiguration.Credentials] = []
            switch (flags.user, flags.passwordFile) {
            case (nil, nil): break
            case (let user?, let file?):
                given.append(.password(user: user, password: try secret(in: file)))
            default:
                throw RepriseError(
                    .badConfiguration, "A user in NATS needs a password.",
                    remedy: "Give both --log-user and --log-password-file, or neither.")
            }
            if let file = flags.tokenFile { given.append(.token(try secret(in: file))) }
            if let file = flags.key { given.append(.key(seedFile: file)) }
            if let file = flags.credentials { given.append(.file(file)) }
            guard given.count <= 1 else {
                throw RepriseError(
                    .badConfiguration, "NATS takes one kind of credentials, not \(given.count).",
                    remedy: "Leave out all but one of --log-user, --log-token-file, --log-nkey "
                        + "and --log-creds; look at the environment and the file too.")
            }
            return given.first
        }

        private static func certificate(
            _ flags: ClusterFlags
        ) throws -> (chain: String, key: String)? {
            switch (flags.certificate, flags.certificateKey) {
            case (nil, nil): return nil
            case (let chain?, let key?): return (try readable(chain), try readable(key))
            default:
                throw RepriseError(
                    .badConfiguration, "TLS with NATS needs a certificate and its key.",
                    remedy: "Give both --log-cert and --log-cert-key, or neither.")
            }
        }

        private static func secret(in file: String) throws -> String {
            let file = try readable(file)
            let text = try? String(contentsOfFile: file, encoding: .utf8)
            let secret = (text ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
            guard !secret.isEmpty, !secret.contains("\n") else {
                throw RepriseError(
                    .badConfiguration, "\(file) does not hold one line with a secret for NATS.")
            }
            return secret
        }

        private static func readable(_ file: String) throws -> String {
            guard FileManager.default.isReadableFile(atPath: file) else {
                throw RepriseError(
                    .badConfiguration, "\(file) cannot be read.",
                    remedy: "Check the path and its permissions.")
            }
            return file
        }
    #endif
}
