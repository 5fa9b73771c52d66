import RepriseCore
import RepriseWire

/// In whose name, and where, a request publishes.
struct Publisher: Sendable {
    let who: Principal
    let channel: ChannelName
    let accounts: Accounts
    private var mayChangeOthers = false

    init(who: Principal, channel: ChannelName, accounts: Accounts) {
        self.who = who
        self.channel = channel
        self.accounts = accounts
    }

    /// The same with what the user may do at this moment; a long stream asks again and again.
    ///
    /// - Throws: ``HTTPFailure`` 403 for who may not publish.
    func checked() async throws -> Publisher {
        let grant = try await accounts.grant(who, in: channel)
        guard grant.mayPublish else { throw HTTPFailure.forbidden }
        var publisher = self
        publisher.mayChangeOthers = grant.mayManage
        return publisher
    }

    /// A message of this publisher.
    func message(
        _ id: EntryID, after: EntryID? = nil, change: MessageChange<EntryID>? = nil, body: [UInt8]
    ) -> NewMessage {
        NewMessage(
            channel: channel, id: id, after: after, change: change, from: who.user,
            mayChangeOthers: mayChangeOthers, body: body)
    }
}
