import CNats
import RepriseCore

/// The failures of the library and of the servers, as errors that say what to do.
enum NatsFailure {
    /// What the library calls a status.
    static func text(_ status: natsStatus) -> String { String(cString: natsStatus_GetText(status)) }

    /// The last failure of a connection, in the words of the library or of the server.
    static func last(of connection: OpaquePointer?) -> (status: natsStatus, text: String?) {
        var words: UnsafePointer<CChar>?
        let status = natsConnection_GetLastError(connection, &words)
        let text = words.map { String(cString: $0) } ?? ""
        return (status, text.isEmpty ? nil : text)
    }

    /// Nobody has answered a question in time.
    static func noAnswer(_ subject: String) -> RepriseError {
        RepriseError(
            .unavailable, "Nobody in NATS answers \(subject).",
            remedy: "A majority of its servers must be there, with JetStream, and this user must "
                + "have the right to ask: Examples/cluster/nats.conf lists the subjects.")
    }

    /// Those that are there cannot agree.
    static let noLeader = RepriseError(
        .unavailable, "JetStream has no leader: a majority of NATS' servers is missing.",
        remedy: "Start them; /healthz of each says what it lacks.")

    /// No server takes a question.
    static func nobodyAsked(_ subject: String) -> RepriseError {
        // Of streams any server with JetStream is asked; other subjects are those of one stream.
        guard subject.hasPrefix("$JS.API.STREAM.") else { return noAnswer(subject) }
        return RepriseError(
            .unavailable,
            "JetStream is off in NATS, or for this user's account: no server takes \(subject).",
            remedy: "Add `jetstream {}` to nats-server's configuration, and `jetstream: enabled` "
                + "to the account; its log says why it is off otherwise.")
    }

    static func check(_ status: natsStatus, _ subject: String) throws {
        switch status {
        case NATS_OK: break
        case NATS_NO_RESPONDERS: throw nobodyAsked(subject)
        case NATS_TIMEOUT, NATS_CONNECTION_DISCONNECTED, NATS_CONNECTION_CLOSED:
            throw noAnswer(subject)
        default:
            throw RepriseError(.unavailable, "NATS fails at \(subject): \(text(status)).")
        }
    }

    /// Why no server could be connected to.
    static func ofDialling(
        _ status: natsStatus, _ configuration: NatsConfiguration
    ) -> RepriseError {
        let servers = configuration.description
        switch status {
        case NATS_CONNECTION_AUTH_FAILED, NATS_NOT_PERMITTED:
            return RepriseError(
                .refused, "NATS at \(servers) does not accept these credentials.",
                remedy: "Look at --log-user and --log-password-file, --log-token-file, "
                    + "--log-nkey or --log-creds, and at its configuration.")
        case NATS_SSL_ERROR, NATS_SECURE_CONNECTION_REQUIRED, NATS_SECURE_CONNECTION_WANTED:
            return RepriseError(
                .refused, "TLS with NATS at \(servers) fails: \(lastError ?? text(status)).",
                remedy: "Name it as its certificate does, give --log-ca with its authority, and "
                    + "--log-cert with --log-cert-key if it asks for a certificate.")
        default:
            return RepriseError(
                .unreachable, "No server of NATS is at \(servers): \(text(status)).",
                remedy: "Start nats-server there, with JetStream.")
        }
    }

    private static var lastError: String? {
        var status = NATS_OK
        guard let text = nats_GetLastError(&status) else { return nil }
        let words = String(cString: text)
        return words.isEmpty ? nil : words.limited(to: 200)
    }
}
