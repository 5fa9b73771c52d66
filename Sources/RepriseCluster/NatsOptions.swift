import CNats
import Foundation
import RepriseCore

/// The library's options of a connection.
final class NatsOptions {
    let pointer: OpaquePointer

    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if a file cannot be used.
    init(_ configuration: NatsConfiguration, name: String) throws {
        var made: OpaquePointer?
        guard natsOptions_Create(&made) == NATS_OK, let made else {
            throw RepriseError(.internal, "The library of NATS has no memory.")
        }
        pointer = made
        var servers = configuration.servers.map { UnsafePointer(strdup($0)) }
        defer { for server in servers { free(UnsafeMutablePointer(mutating: server)) } }
        try set(natsOptions_SetServers(pointer, &servers, Int32(servers.count)), "the addresses")
        try set(natsOptions_SetName(pointer, name), "the name")
        let dialTimeout = Int64(NatsConnection.dialTimeout / .milliseconds(1))
        natsOptions_SetTimeout(pointer, dialTimeout)
        natsOptions_SetMaxReconnect(pointer, -1)
        let pause = Int64(NatsConnection.pause / .milliseconds(1))
        natsOptions_SetReconnectWait(pointer, pause)
        natsOptions_SetReconnectJitter(pointer, pause, pause)
        natsOptions_SetPingInterval(pointer, Int64(NatsConnection.pingInterval / .milliseconds(1)))
        natsOptions_SetMaxPingsOut(pointer, 2)
        natsOptions_SetWriteDeadline(
            pointer, Int64(NatsConnection.writeDeadline / .milliseconds(1)))
        natsOptions_SetMaxPendingMsgs(pointer, 65_536)
        natsOptions_SetSendAsap(pointer, true)
        natsOptions_SetFailRequestsOnDisconnect(pointer, true)
        try prove(configuration.credentials)
        try secure(configuration)
    }

    deinit { natsOptions_Destroy(pointer) }

    private func prove(_ credentials: NatsConfiguration.Credentials) throws {
        switch credentials {
        case .none: break
        case .password(let user, let password):
            try set(natsOptions_SetUserInfo(pointer, user, password), "user and password")
        case .token(let token): try set(natsOptions_SetToken(pointer, token), "the token")
        case .key(let file):
            let key = try NatsKey.publicKey(ofSeedIn: file)
            try set(natsOptions_SetNKeyFromSeed(pointer, key, file), "the key in \(file)")
        case .file(let file):
            guard FileManager.default.isReadableFile(atPath: file) else {
                throw Self.unusable("the credentials in \(file): it cannot be read")
            }
            try set(
                natsOptions_SetUserCredentialsFromFiles(pointer, file, nil),
                "the credentials in \(file)")
        }
    }

    private func secure(_ configuration: NatsConfiguration) throws {
        if configuration.requiresTLS { natsOptions_SetSecure(pointer, true) }
        if let file = configuration.authorities {
            try set(
                natsOptions_LoadCATrustedCertificates(pointer, file), "the authority in \(file)")
        }
        if let (chain, key) = configuration.certificate {
            try set(
                natsOptions_LoadCertificatesChain(pointer, chain, key),
                "the certificate in \(chain) with the key in \(key)")
        }
    }

    private func set(_ status: natsStatus, _ what: String) throws {
        guard status == NATS_OK else {
            throw Self.unusable("\(what): \(NatsFailure.text(status))")
        }
    }

    private static func unusable(_ what: String) -> RepriseError {
        RepriseError(.badConfiguration, "NATS cannot use \(what).")
    }
}
