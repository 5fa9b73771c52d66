package import RepriseChannels
package import RepriseCore
package import RepriseJournal
package import RepriseWire

/// An app on a device in virtual time: a process with the shipping machines, on a store that
/// outlives it.
///
/// ```swift
/// let device = SimulatedDevice(
///     simulation, name: "device-0", network: network, store: ModelStore(simulation, disk: disk),
///     plan: .init(
///         server: "server",
///         channels: [.init(general, readers: [.init("inbox", .outside)])]))
/// device.effect = { device, reader, channel, id, attempt in observer.saw(id) }
/// device.process.start()
/// ```
///
/// Whatever a process knows dies with it: each start builds a ``DeviceLife`` from the store.
package final class SimulatedDevice {
    /// What the app does, the same in each of its lives.
    package struct Plan {
        package var server: String
        package var channels: [ChannelPlan]
        package var settings: ChannelsMachine.Settings
        package var outbox: OutboxMachine.Settings

        package init(
            server: String, channels: [ChannelPlan], settings: ChannelsMachine.Settings = .init(),
            outbox: OutboxMachine.Settings = .init()
        ) {
            self.server = server
            self.channels = channels
            self.settings = settings
            self.outbox = outbox
        }
    }

    package struct ChannelPlan {
        package var name: ChannelName
        package var readers: [ReaderPlan]
        /// Whether the app loads a snapshot when something is lost.
        package var takesSnapshots: Bool

        package init(
            _ name: ChannelName, readers: [ReaderPlan] = [], takesSnapshots: Bool = false
        ) {
            self.name = name
            self.readers = readers
            self.takesSnapshots = takesSnapshots
        }
    }

    package struct ReaderPlan: Hashable {
        package enum Kind: Hashable {
            /// The effect is in the store's own transaction: `AppTransaction.effects()` has it, as
            /// ``effectText``.
            case inside
            /// The effect is outside; after a kill `options.onInterruption` says what becomes of
            /// it.
            case outside
            /// The effect is outside, and the app keeps the ids of what it has done with it.
            case outsideAsking
        }

        package var name: String
        package var kind: Kind
        package var options: ReaderOptions

        package init(_ name: String, _ kind: Kind, options: ReaderOptions = ReaderOptions()) {
            self.name = name
            self.kind = kind
            self.options = options
        }

        /// What a run has in which its handler had something.
        var feature: Feature {
            switch (kind, options.order) {
            case (.inside, .arrival): .inside
            case (.inside, .ordered): .inOrderInside
            case (_, .ordered): .inOrder
            case (.outsideAsking, .arrival): .asking
            case (.outside, .arrival): options.onInterruption == .never ? .never : .again
            }
        }

        /// How an effect inside of the store is written down.
        package func effectText(_ channel: ChannelName, _ id: EntryID) -> String {
            "\(channel)/\(name)/\(id)"
        }
    }

    /// What the app is asked to load.
    package struct SnapshotRequest {
        package var channel: ChannelName
        package var epoch: Epoch
        package var snapshot: SubscriptionMachine.Snapshot
    }

    /// What a handler does with a message.
    package enum Handling: Hashable {
        case succeed(after: Duration)
        case fail(after: Duration)
        /// Never comes back, in this life of the process.
        case hang
    }

    /// What a handler of a plan throws.
    package struct HandlerFailed: Error, Hashable { package init() {} }

    package let name: String
    package let process: SimulatedProcess
    package let store: any DeviceStore
    package let plan: Plan

    // MARK: What others are told, whatever the process knows of it later

    /// An effect outside of the store has taken place: device, reader, channel, message, attempt.
    package var effect: (SimulatedDevice, ReaderPlan, ChannelName, EntryID, Int) -> Void = {
        _, _, _, _, _ in
    }
    /// A reader in order hands a message over, and this is what will become of it.
    package var handsInOrder: (SimulatedDevice, ReaderPlan, Arrived, Handling) -> Void = {
        _, _, _, _ in
    }
    /// What the handler of a reader does with a message; for a reader inside of a transaction the
    /// time is nought.
    package var handling: (SimulatedDevice, ReaderPlan, Message) -> Handling = { _, _, _ in
        .succeed(after: .zero)
    }
    /// The app asks its backend for a token.
    package var tokens:
        (TokenRequest.Reason, @escaping (Result<AccessToken, any Error>) -> Void) -> Void = {
            _, _ in
        }
    /// The app is to load a snapshot and store it durably; it answers what it throws, if it does.
    package var snapshot:
        (SimulatedDevice, SnapshotRequest, @escaping ((any Error)?) -> Void) ->
            Void = { _, _, _ in }
    /// The app is told how the connection is.
    package var connectionChanged: (SimulatedDevice, ConnectionState) -> Void = { _, _ in }
    /// The app is told that the server has a message that it published.
    package var acknowledged: (SimulatedDevice, EntryID) -> Void = { _, _ in }
    /// The app is told that the server refused a message for good.
    package var refused: (SimulatedDevice, EntryID, RefusalCode) -> Void = { _, _, _ in }
    /// The app is told a channel's state.
    package var stateChanged: (SimulatedDevice, ChannelName, ChannelState) -> Void = { _, _, _ in }
    /// A transaction on the store has taken effect.
    package var committed: (SimulatedDevice) -> Void = { _ in }
    /// The channels have given up: going on is of no use.
    package var stopped: (SimulatedDevice, any Error) -> Void = { _, _ in }

    let simulation: Simulation
    let network: SimulatedNetwork
    /// What the app's own store has of its effects, for readers that ask.
    var applied: Set<String> = []
    /// nil while the process is dead, or its journal could not be opened yet.
    private(set) var life: DeviceLife?
    /// Lives that ended: a kill falls into the middle of their code, which goes on until it asks
    /// whether it is alive.
    private var former: [DeviceLife] = []

    package init(
        _ simulation: Simulation, name: String, network: SimulatedNetwork, store: any DeviceStore,
        plan: Plan, process: SimulatedProcess? = nil
    ) {
        self.simulation = simulation
        self.name = name
        self.network = network
        self.store = store
        self.plan = plan
        self.process = process ?? SimulatedProcess(simulation, name: name)
        self.process.started = { [unowned self] in open(failures: 0) }
        self.process.ended = { [unowned self] in
            if let life { former.append(life) }
            life = nil
        }
    }

    /// A full disk keeps the journal closed; the app tries again.
    private func open(failures: Int) {
        guard process.survives("opening the journal") else { return }
        do {
            let life = try DeviceLife(self)
            self.life = life
            life.begin()
        } catch {
            simulation.trace(name, "cannot open its journal: \(error)")
            simulation.after(.milliseconds(500 * Int64(min(failures + 1, 20))), on: process) {
                [self] in open(failures: failures + 1)
            }
        }
    }

    // MARK: What an app can do

    /// Records a message in the outbox; `then` hears once it is durable, or why it is not.
    ///
    /// - Returns: false if the app does not run: nothing has happened.
    @discardableResult
    package func publish(
        _ id: EntryID, _ content: OutboxContent, to channel: ChannelName,
        then: @escaping (Result<Recorded, any Error>) -> Void = { _ in }
    ) -> Bool {
        guard let life, process.state == .running else { return false }
        life.journal.record(content.entry(id: id, in: channel), then: then)
        return true
    }

    package func unsubscribe(_ channel: ChannelName) { life?.unsubscribe(channel) }

    package func subscribe(_ channel: ChannelName) { life?.subscribe(channel) }

    /// Somebody has signed in again.
    package func reconnect() { life?.reconnect() }

    /// Who is signed in; nil: nobody.
    package var user: UserID? { plan.settings.tokens.user }

    // MARK: What the invariants look at

    /// The journal of this life, for entries of other kinds.
    package var journal: SimulatedJournal? { life?.journal }

    package func state(of channel: ChannelName) -> ChannelState {
        life?.states[channel] ?? .closed
    }

    package var connection: ConnectionState { life?.connection ?? .idle }

    /// What memory believes; nil while the app does not run or has no such subscription.
    package func machine(of channel: ChannelName) -> SubscriptionMachine? {
        life?.machine.machine(of: channel)
    }

    /// Frames that have arrived and are not read.
    package var unreadFrames: Int { life?.unread.count ?? 0 }

    /// Epoch, coverage and head, as the store has them.
    package func stored(_ channel: ChannelName) throws -> ChannelStore.Stored? {
        try life?.journal.read { try $0.stored(channel) }
    }

    /// Messages, losses and exceptions, as the store has them.
    package func contents(of channel: ChannelName) throws -> ChannelContents? {
        try life?.journal.read { try $0.contents(of: channel) }
    }

    /// What a list shows, by its own SQL; nil on the model.
    package func list(of channel: ChannelName) throws -> [ChannelMessage]? {
        try life?.journal.read { try $0.list(of: channel) } ?? nil
    }

    /// The channels' part of the ledger.
    package func channelsLedger() throws -> LedgerSum? {
        try life?.journal.read { try $0.channelsLedger() }
    }

    /// The effects of readers inside of the store.
    package func effects() throws -> [String]? { try life?.journal.read { try $0.effects() } }
}
