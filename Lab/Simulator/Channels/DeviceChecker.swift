import RepriseChannels
import RepriseCore
import RepriseServer
import RepriseWire

/// Watches a device from outside: counts the effects, and in the end holds what the device has
/// against what the server had.
final class DeviceChecker {
    private struct Effect: Hashable {
        var reader: String
        var channel: ChannelName
        var id: EntryID
    }

    private let simulation: Simulation
    private let device: SimulatedDevice
    private let server: ServerChecker
    /// Who the users are, where the server asks.
    private let people: People?
    private let app: SnapshotApp
    /// Effects outside of the journal.
    private var effects: [Effect: Int] = [:]
    private let inOrder: InOrderChecker
    private var commits = 0

    init(
        _ simulation: Simulation, _ device: SimulatedDevice, _ server: ServerChecker,
        _ people: People?, _ app: SnapshotApp
    ) {
        self.simulation = simulation
        self.device = device
        self.server = server
        self.people = people
        self.app = app
        inOrder = InOrderChecker(simulation)
        device.handsInOrder = { [inOrder] in
            inOrder.hands($2, to: $1, on: $0, $3)
        }
        device.effect = { [unowned self] _, reader, channel, id, attempt in
            tookEffect(Effect(reader: reader.name, channel: channel, id: id), attempt: attempt)
        }
        device.committed = { [unowned self] _ in committed() }
        device.stateChanged = { [unowned self] _, channel, state in
            if state == .live { checkLive(channel) }
        }
    }

    /// Whoever is told that a channel is live finds all of it in the journal.
    private func checkLive(_ channel: ChannelName) {
        let stored = attempt { try device.stored(channel) }
        guard stored?.coverage.isComplete(through: stored?.head ?? 0) != true else { return }
        simulation.violated(
            .coverage,
            "\(device.name) says that \(channel) is live, and has "
                + (stored.map { "\($0.coverage) of \($0.head)" } ?? "nothing"))
    }

    private func tookEffect(_ effect: Effect, attempt: Int) {
        effects[effect, default: 0] += 1
        // Whoever gets it again is told so.
        if attempt < 2, effects[effect] != 1 {
            simulation.violated(
                .once,
                "\(device.name): \(effect.reader) got \(effect.id) again as if for the first time")
        }
    }

    /// The ledger balances at every moment; looked at now and then, because it reads everything.
    private func committed() {
        commits += 1
        guard commits % 32 == 0, let ledger = attempt({ try device.channelsLedger() }) else {
            return
        }
        if !ledger.isBalanced {
            simulation.violated(.accounted, "\(device.name)'s ledger does not add up: \(ledger)")
        }
    }

    private func attempt<T>(_ body: () throws -> T?) -> T? { (try? body()).flatMap { $0 } }

    // MARK: Complete

    /// Whether the device has all that the server has, and its readers have been through it.
    func isComplete(_ channels: [ChannelName], _ log: SimulatedServer) -> Bool {
        guard device.process.state == .running, let journal = device.journal else { return false }
        let held = channels.reduce(Int64(0)) { $0 + Int64(heldBehindHole($1).count) }
        let outbox = attempt { try journal.read { try $0.ledger() } }
        guard let outbox, outbox.pending <= held else { return false }
        guard let ledger = attempt({ try device.channelsLedger() }), ledger.pending <= held else {
            return false
        }
        return channels.allSatisfy { isComplete($0, log) }
    }

    /// What a reader in order waits with, because a message before it is not there and its user was
    /// put out of the channel.
    private func heldBehindHole(_ channel: ChannelName) -> Set<EntryID> {
        guard people?.isShutOut(device, of: channel) == true,
            let plan = device.plan.channels.first(where: { $0.name == channel }),
            plan.readers.contains(where: { $0.options.order == .ordered }),
            let stored = attempt({ try device.stored(channel) }),
            let contents = attempt({ try device.contents(of: channel) })
        else { return [] }
        let held = contents.messages.filter {
            $0.epoch == stored.epoch && $0.seq > stored.coverage.watermark
        }
        return Set(held.map(\.id))
    }

    private func isComplete(_ channel: ChannelName, _ log: SimulatedServer) -> Bool {
        let state = log.state(of: channel)
        if people?.isShutOut(device, of: channel) == true {
            if case .refused = device.state(of: channel) { return true }
            return false
        }
        guard device.state(of: channel) == .live else { return false }
        guard state.head > 0 else { return true }
        guard let stored = attempt({ try device.stored(channel) }) else { return false }
        return stored.epoch == state.epoch && stored.coverage.isComplete(through: state.head)
    }

    // MARK: The end

    func check(_ channels: [ChannelName], _ log: SimulatedServer) {
        guard isComplete(channels, log) else { return notComplete(channels, log) }
        let inside = attempt { try device.effects() } ?? []
        let counted = inside.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        var stored = 0
        for channel in channels {
            guard let contents = attempt({ try device.contents(of: channel) }) else { continue }
            stored += contents.messages.count
            checkMessages(contents, channel, log)
            checkEffects(contents, channel, counted)
            if let plan = device.plan.channels.first(where: { $0.name == channel }) {
                inOrder.check(inside, contents, plan, device)
            }
            checkChanges(contents, channel, log)
        }
        guard simulation.violation == nil, let ledger = attempt({ try device.channelsLedger() })
        else { return }
        if ledger.accepted != Int64(stored) || !ledger.isBalanced {
            simulation.violated(
                .accounted, "\(device.name) has \(stored) messages, its ledger says \(ledger)")
        }
    }

    private func notComplete(_ channels: [ChannelName], _ log: SimulatedServer) {
        let states = channels.map { channel in
            let stored = attempt { try device.stored(channel) }
            return "\(channel) \(device.state(of: channel)), has "
                + "\(stored.map { "\($0.epoch?.text ?? "no epoch") \($0.coverage)" } ?? "nothing") of "
                + "\(log.state(of: channel))"
        }
        let ledger = attempt { try device.channelsLedger() }
        let outbox = attempt { try device.journal?.read { try $0.ledger() } }
        simulation.violated(
            .alive,
            "\(device.name) is not complete: \(states.joined(separator: "; ")); pending "
                + "\(ledger?.pending ?? -1), in the outbox \(outbox?.pending ?? -1)")
    }

    /// Each sequence of the current log is one message here, or was here before the epoch changed,
    /// or is told lost.
    private func checkMessages(
        _ contents: ChannelContents, _ channel: ChannelName, _ log: SimulatedServer
    ) {
        let state = log.state(of: channel)
        checkEach(contents, channel)
        let known = Set(contents.messages.map(\.id))
        let here = Set(contents.messages.filter { $0.epoch == state.epoch }.map(\.seq))
        guard people?.isShutOut(device, of: channel) != true else { return }
        let hidden = hidden(in: channel)
        checkSnapshot(contents, channel, state)
        let lost = contents.losses.filter { $0.epoch == state.epoch && $0.reason == "retention" }
        for seq in 1...max(state.head, 1) where state.head > 0 {
            let isLost = lost.contains { $0.after < seq && seq <= $0.through ?? .max }
            if here.contains(seq) {
                if isLost { report(seq, channel, "is there and told lost") }
                continue
            }
            if isLost {
                if seq > state.floor { report(seq, channel, "is told lost and was never trimmed") }
                continue
            }
            guard seq > hidden else { continue }
            let id = server.meaning(of: seq, in: channel, state.epoch)
            // What was trimmed before a backup was taken is known to nobody any more.
            if id == nil, seq <= app.through(channel, state.epoch) { continue }
            if app.has(id, in: channel) { continue }
            if id.map(known.contains) != true {
                report(
                    seq, channel, "(\(id?.text ?? "?")) is covered, and is neither there nor lost")
            }
        }
    }

    /// Each message is there once, at its place, and the user may have it.
    private func checkEach(_ contents: ChannelContents, _ channel: ChannelName) {
        var known: Set<EntryID> = []
        for message in contents.messages {
            if !known.insert(message.id).inserted {
                simulation.violated(.once, "\(device.name) stored \(message.id) twice")
            }
            if server.meaning(of: message.seq, in: channel, message.epoch) != message.id {
                simulation.violated(
                    .coverage,
                    "\(device.name) has \(message.id) as \(channel) \(message.seq) of \(message.epoch)"
                )
            }
            if let people, let user = device.user,
                !people.checker.mayHave(user, message.id, in: channel)
            {
                simulation.violated(
                    .access, "\(device.name) has \(message.id), and \(user) was no member then")
            }
        }
    }

    /// What is at or below it was before the user joined, and none of his business.
    private func hidden(in channel: ChannelName) -> Int64 {
        guard let people, let user = device.user else { return 0 }
        return people.checker.hidden(from: user, in: channel)
    }

    /// What the server shows after all edits and deletions, and no other body, is here; in whatever
    /// order they came.
    private func checkChanges(
        _ contents: ChannelContents, _ channel: ChannelName, _ log: SimulatedServer
    ) {
        // Who is put out of a channel hears of no deletion, and who joins of none before.
        guard people?.isShutOut(device, of: channel) != true else { return }
        // What a snapshot stands for changes nothing here.
        let hidden = max(hidden(in: channel), app.through(channel, log.state(of: channel).epoch))
        guard !takesSnapshots(channel) || server.epochCount == 1 else { return }
        guard hidden == 0 || server.epochCount == 1 else { return }
        let events = log.messages(in: channel).filter { $0.seq > hidden }
        let deleted = events.filter(\.isDeleted)
        if !deleted.isEmpty { checkDeleted(deleted, contents, channel) }
        // What a former epoch did to a message stays done here, although the server has forgotten
        // it. A new log without a message has an epoch, too.
        guard Set(contents.messages.map(\.epoch)) == [log.state(of: channel).epoch],
            server.epochCount == 1
        else { return }
        let applied = AppliedState(
            contents.messages.filter { $0.seq > hidden }
                .map { ($0.seq, $0.change, $0.isDeleted, $0.body) })
        let expected = AppliedState(events.map { ($0.seq, $0.change, $0.isDeleted, $0.body) })
        for event in events where applied.body(of: event.seq) != expected.body(of: event.seq) {
            report(event.seq, channel, "(\(event.id)) does not look as its last edit left it")
        }
        checkList(contents, channel)
    }

    /// On the shipping journal the list's own SQL shows what the rows say, in order; what waits to
    /// be sent is beside it.
    private func checkList(_ contents: ChannelContents, _ channel: ChannelName) {
        guard let list = attempt({ try device.list(of: channel) }) else { return }
        let applied = AppliedState(
            contents.messages.map { ($0.seq, $0.change, $0.isDeleted, $0.body) })
        let expected = contents.messages.filter { $0.change == nil }.sorted { $0.seq < $1.seq }
        let ids = Set(expected.map(\.id))
        let shown = list.filter { ids.contains($0.id) }
        guard shown.map(\.seq) == expected.map(\.seq) else {
            let seqs = shown.map { $0.seq ?? 0 }
            return report(0, channel, "is shown as \(seqs), and has \(expected.map(\.seq))")
        }
        for (message, row) in zip(shown, expected)
        where message.body != applied.body(of: row.seq) || message.isDeleted != row.isDeleted {
            report(row.seq, channel, "(\(row.id)) is not shown as its rows say")
        }
    }

    private func checkDeleted(
        _ deleted: [ServerFrame.Event], _ contents: ChannelContents, _ channel: ChannelName
    ) {
        let here = Dictionary(contents.messages.map { ($0.id, $0) }) { first, _ in first }
        for event in deleted {
            guard let message = here[event.id] else { continue }
            if !message.isDeleted || message.body != Array("null".utf8) {
                report(event.seq, channel, "(\(event.id)) is deleted, and its body is there")
            }
        }
    }

    private func takesSnapshots(_ channel: ChannelName) -> Bool {
        device.plan.channels.contains { $0.name == channel && $0.takesSnapshots }
    }

    /// An app that loads snapshots has one behind all that was lost in this epoch, and one of this
    /// epoch if there was another.
    private func checkSnapshot(
        _ contents: ChannelContents, _ channel: ChannelName, _ state: RepriseServer.LogChannelState
    ) {
        guard takesSnapshots(channel), state.head > 0 else { return }
        let losses = contents.losses.filter { $0.epoch == state.epoch && $0.reason == "retention" }
        let lost = losses.compactMap(\.through).max() ?? 0
        if app.through(channel, state.epoch) < lost {
            report(lost, channel, "is lost, and no snapshot has it")
        }
        let hadAnother = contents.messages.contains { $0.epoch != state.epoch }
        if hadAnother, app.epoch(of: channel) != state.epoch {
            report(0, channel, "is of another epoch, and no snapshot is")
        }
        let stored = attempt { try device.stored(channel) }
        if let left = stored?.snapshot { report(left.position, channel, "waits for a snapshot") }
    }

    private func report(_ seq: Int64, _ channel: ChannelName, _ what: String) {
        simulation.violated(.coverage, "\(device.name): \(channel) \(seq) \(what)")
    }

    private func checkEffects(
        _ contents: ChannelContents, _ channel: ChannelName, _ inside: [String: Int]
    ) {
        let exceptions = Dictionary(
            contents.exceptions.map { ("\($0.reader)/\($0.id)", $0.state) }
        ) { first, _ in first }
        let readers = device.plan.channels.first { $0.name == channel }?.readers ?? []
        let held = heldBehindHole(channel)
        for message in contents.messages {
            for reader in readers {
                if reader.options.order == .ordered, held.contains(message.id) { continue }
                let effect = Effect(reader: reader.name, channel: channel, id: message.id)
                let count =
                    reader.kind == .inside
                    ? inside[reader.effectText(channel, message.id)] ?? 0 : effects[effect] ?? 0
                let exception =
                    exceptions.isEmpty ? nil : exceptions["\(reader.name)/\(message.id)"]
                check(count, reader, message.id, exception)
            }
        }
    }

    private func check(
        _ count: Int, _ reader: SimulatedDevice.ReaderPlan, _ id: EntryID,
        _ exception: ReaderStore.State?
    ) {
        let mayBeMissing = exception == .dead || exception == .unconfirmed
        if count == 0, !mayBeMissing {
            simulation.violated(
                .acknowledged, "\(device.name): \(reader.name) never had \(id), and is done with it"
            )
        }
        let mayRepeat = reader.kind == .outside && reader.options.onInterruption == .again
        if count > 1, !mayRepeat {
            simulation.violated(
                .once, "\(device.name): \(id) took effect \(count) times in \(reader.name)")
        }
    }
}
