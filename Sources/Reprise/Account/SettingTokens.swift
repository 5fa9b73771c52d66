import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseWire
import Synchronization

extension NoticeServer {
    /// The channels' server, as the same device and the same user.
    init(
        _ url: String, _ transport: any HTTPTransport, journal: Journal, identity: Identity?
    ) {
        var token: (@Sendable (_ isRefused: Bool) async throws -> AccessToken)?
        if let identity {
            let tokens = SettingTokens(identity: identity)
            token = { isRefused in try await tokens.token(isRefused: isRefused) }
        }
        self.init(
            url: url, transport: transport,
            device: { try await journal.read { db in try ChannelStore.device(db) } }, token: token)
    }
}

/// The token for sending settings: kept until the server refuses it.
private final class SettingTokens: Sendable {
    private let identity: Identity
    private let last = Mutex<AccessToken?>(nil)

    init(identity: Identity) { self.identity = identity }

    func token(isRefused: Bool) async throws -> AccessToken {
        if !isRefused, let token = last.withLock({ $0 }) { return token }
        let token = try await identity.tokens(
            TokenRequest(user: identity.user, reason: isRefused ? .refused : .first))
        last.withLock { $0 = token }
        return token
    }
}
