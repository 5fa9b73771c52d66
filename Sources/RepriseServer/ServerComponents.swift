import RepriseWire

/// What a running server consists of.
struct ServerComponents: Sendable {
    /// The log and the accounts, and what keeps them equal to those of others.
    struct Storage: Sendable {
        let log: any MessageLog
        let accounts: Accounts
        var cluster: ClusterMember?

        func close() async {
            if let cluster { return await cluster.close() }
            await accounts.close()
            await log.close()
        }
    }

    /// Access control and push services, read from the files that the configuration names.
    struct Loaded: Sendable {
        let accessControl: AccessControl
        let providers: [any PushProvider]
        let webPushKey: String?
    }

    let storage: Storage
    let accessControl: AccessControl
    let log: MeasuredLog
    let gateway: Gateway
    let committer: Committer
    let pushing: Pushing
    let elsewhere: ConnectedElsewhere?
    let presence: PresenceService?
    /// Delivers and pushes stored events.
    let onCommit: @Sendable ([ServerFrame.Event]) -> Void
}
