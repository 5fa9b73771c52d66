import GRDB
import RepriseCore
import RepriseWire

/// Applies the commands of accepted entries in the open transaction.
///
/// Deterministic: what a command comes to depends on the entries before it alone. It ends in an
/// outcome or a refusal; any other error is of this gateway's disk, and nobody's answer.
struct CommandApplier {
    /// The most grants in memory.
    private static let grantLimit = 65_536
    /// What a command may be refused with.
    private static let refusals: Set<RepriseError.Code> = [
        .refused, .full, .malformed, .tooLarge,
    ]

    private struct GrantKey: Hashable {
        let who: Principal
        let channel: ChannelName
    }

    let implicitChannels: Bool
    let pushes: PushQueue
    private var arrivals: DeviceArrivals
    private(set) var leases: GrantedLeases
    /// See ``ClusterRules``.
    private(set) var rules: Int64
    /// Of the transactions so far; a change of access ends them.
    private var grants: [GrantKey: Grant] = [:]

    init(
        implicitChannels: Bool, pushes: PushQueue, arrivals: DeviceArrivals, leases: GrantedLeases,
        rules: Int64
    ) {
        self.implicitChannels = implicitChannels
        self.pushes = pushes
        self.arrivals = arrivals
        self.leases = leases
        self.rules = rules
    }

    mutating func apply(
        _ commands: [ClusterCommand], of sequence: Int64, at time: WallTime,
        _ memory: inout LogMemory, _ db: Database
    ) throws -> [CommandOutcome] {
        var outcomes: [CommandOutcome] = []
        var rest = commands[...]
        while let command = rest.first {
            // Messages that follow each other share what the log does once a batch.
            let run = rest.prefix { if case .publish = $0 { true } else { false } }
            guard run.isEmpty else {
                let runs = run.compactMap { if case .publish(let one) = $0 { one } else { nil } }
                outcomes += try publish(runs, at: time, &memory, db).map { .published($0) }
                rest = rest.dropFirst(run.count)
                continue
            }
            let place = Generation(sequence: sequence, place: Int64(outcomes.count))
            outcomes.append(try apply(command, at: time, place, &memory, db))
            rest = rest.dropFirst()
        }
        return outcomes
    }

    private mutating func apply(
        _ command: ClusterCommand, at time: WallTime, _ place: Generation,
        _ memory: inout LogMemory, _ db: Database
    ) throws -> CommandOutcome {
        switch command {
        case .nop, .session, .publish: return .nothing
        case .hello(let device):
            let arrival = Arrival(device: device, generation: place)
            return .arrived(arrival, forgotten: try arrivals.arrived(arrival, db))
        case .lease(let request):
            let grant = try leases.decide(request, of: place.sequence, at: time, db)
            return .leased(grant: grant)
        case .beginPushing(let service, let grant):
            guard leases.isCurrent(grant, of: service.role) else { return Self.outdated }
            try PushProgress.begin(service, db)
            return .nothing
        case .pushed(let progress):
            guard leases.isCurrent(progress.grant, of: progress.service.role) else {
                return Self.outdated
            }
            try progress.apply(db)
            return .nothing
        case .mark(let grant):
            return leases.isCurrent(grant, of: .base) ? .marked(grant: grant) : Self.outdated
        case .hashed(let hash): return .hashed(hash)
        case .checked(let check): return .checked(check)
        case .stuck: return .nothing
        case .trim(let channel, let through, let grant):
            if let grant, !leases.isCurrent(grant, of: .housekeeping) { return Self.outdated }
            return .trimmed(
                channel, more: try LogTrimming.step(channel, through: through, &memory, db))
        case .forgetIDs(let run, let grant):
            if let grant, !leases.isCurrent(grant, of: .housekeeping) { return Self.outdated }
            return .forgot(more: try memory.forget(run, db))
        case .rules(let raised):
            try raised.apply(db)
            rules = max(rules, raised.version)
            grants.removeAll()
            return .changed((), AccountEffects(isTold: true))
        case .account(let command): return try change(command, at: time, db)
        }
    }

    /// What each command of a skipped entry comes to.
    static let skipped = CommandOutcome.refused(SkippedCommands.refusal)

    private static let outdated = CommandOutcome.refused(
        RepriseError(.refused, "Another gateway does this now."))

    private mutating func change(
        _ command: some JournaledCommand, at time: WallTime, _ db: Database
    ) throws -> CommandOutcome {
        let view = AccountsView(
            db: db, time: time, implicitChannels: implicitChannels,
            heads: { try Self.head(of: $0, db) }, pushes: pushes,
            tellsDirectories: tellsDirectories)
        do {
            try command.validate()
            var outcome = CommandOutcome.nothing
            try db.inSavepoint {
                let value = try command.apply(in: view)
                outcome = .changed(value, command.effects(of: value))
                return .commit
            }
            if case .changed(_, let effects) = outcome { forget(effects.access) }
            return outcome
        } catch let error as RepriseError where Self.refusals.contains(error.code) {
            return .refused(error)
        }
    }

    private var tellsDirectories: Bool { rules >= ClusterRules.directories }

    private static func head(of channel: ChannelName, _ db: Database) throws -> Int64 {
        let select = try db.cachedStatement(sql: "SELECT head FROM heads WHERE name = ?")
        return try Int64.fetchOne(select, arguments: [channel.text]) ?? 0
    }

    // MARK: Messages

    private mutating func publish(
        _ runs: [PublishMessages], at time: WallTime, _ memory: inout LogMemory, _ db: Database
    ) throws -> [[AppendResult]] {
        var (batch, refusals): ([NewMessage], [AppendResult?]) = ([], [])
        for run in runs {
            let isSuperseded = try arrivals.isSuperseded(run.fence, of: run.who.user, db)
            var (channel, grant) = (ChannelName?.none, Grant.nothing)
            for message in run.messages {
                if message.channel != channel {
                    channel = message.channel
                    grant = try self.grant(run.who, in: message.channel, db)
                }
                let refusal: AppendResult? =
                    isSuperseded ? Self.superseded : grant.mayPublish ? nil : Self.forbidden
                refusals.append(refusal)
                guard refusal == nil else { continue }
                batch.append(
                    NewMessage(message, from: run.who.user, mayChangeOthers: grant.mayManage))
            }
        }
        memory.notesMentions = rules >= ClusterRules.mentions
        var stored = try memory.append(batch, now: time, db)[...]
        var refused = refusals[...]
        return runs.map { run in
            run.messages.map { _ in refused.removeFirst() ?? stored.removeFirst() }
        }
    }

    private static let superseded = AppendResult.refused(
        .unavailable, "This device has connected again: send it there.")
    private static let forbidden = AppendResult.refused(
        .forbidden, "This user may not publish in this channel.")

    private mutating func grant(
        _ who: Principal, in channel: ChannelName, _ db: Database
    ) throws -> Grant {
        if who.user == nil { return who.isAdmin ? .everything : .nothing }
        if tellsDirectories, channel.isDirectory { return .inDirectory(channel, who) }
        let key = GrantKey(who: who, channel: channel)
        if let grant = grants[key] { return grant }
        if grants.count >= Self.grantLimit { grants.removeAll() }
        let grant = try Grant.fetch(who, in: channel, implicitChannels: implicitChannels, db)
        grants[key] = grant
        return grant
    }

    private mutating func forget(_ change: AccountEffects.AccessChange?) {
        guard let change else { return }
        guard let user = change.user else {
            grants = grants.filter { $0.key.channel != change.channel }
            return
        }
        for isAdmin in [false, true] {
            let who = Principal(user: user, isAdmin: isAdmin)
            grants[GrantKey(who: who, channel: change.channel)] = nil
        }
    }
}
