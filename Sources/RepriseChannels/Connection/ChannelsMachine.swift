package import RepriseCore
package import RepriseWire

/// Decides for one connection and all its channels: which frames are sent, what is written
/// together, and what is read again after a failed write.
///
/// Frames are decoded and checked here, at most one transaction's worth at a time. One batch may be
/// on its way to the disk and one may wait behind it; then nothing more is read (``mayRead``). So
/// memory is ahead of the disk by those two only, and returns to it if a commit fails.
///
/// Its driver performs the actions in their order. It reports each event once, and each end of a
/// started effect: `dial`, `commit` and `reload` have exactly one answer.
package struct ChannelsMachine: Sendable {
    package struct Settings: Sendable {
        package var connection: ConnectionMachine.Settings
        package var subscription: SubscriptionMachine.Settings
        package var tokens: TokenMachine.Settings
        /// The most frames that share one transaction: the most that
        /// ``ChannelsMachine/framesReceived(_:at:jitter:)`` gets at once.
        package var framesPerCommit: Int
        /// Name and version of the app.
        package var client: String

        package init(
            connection: ConnectionMachine.Settings = .init(),
            subscription: SubscriptionMachine.Settings = .init(),
            tokens: TokenMachine.Settings = .init(), framesPerCommit: Int = 1_000,
            client: String = "reprise-swift"
        ) {
            self.connection = connection
            self.subscription = subscription
            self.tokens = tokens
            self.framesPerCommit = framesPerCommit
            self.client = client
        }
    }

    package enum Action: Sendable {
        /// Answered by `dialSucceeded` or `dialFailed`.
        case dial
        /// End the current dial; it is still answered.
        case abandonDial
        /// Ask the app for a token; answered by `tokenReceived` or `tokenFailed` with this number.
        case askToken(Int, TokenRequest.Reason)
        /// The app's token is no longer needed.
        case abandonToken
        /// Ping the peer; answered by `probeAnswered` or `probeFailed` with this number.
        case probe(Int)
        /// A retry is useless.
        case stop(any Error)
        case send([[UInt8]])
        case close(CloseCode)
        /// Write it, if the logs are at these positions; answered by `committed` or `commitFailed`.
        case commit(StagedBatch, at: [ChannelName: LogPosition])
        /// Read the journal's state; answered by `reloaded` or `reloadFailed`.
        case reload([ChannelName])
        /// Call `woke` then; replaces an earlier one. nil: no longer needed.
        case wake(at: Duration?)
        case announce(ConnectionState)
        case enter(ChannelName, ChannelState)
        /// The outbox may send.
        case openSession(
            serverTime: WallTime, user: UserID?, directory: ChannelName?, hasPresence: Bool)
        case closeSession
        /// The server reports positions, typing users, or presence.
        case heard(ServerFrame)
        /// The server has answered the outbox.
        case published(ServerFrame.Published, isSubscribed: Bool)
        case refused(ServerFrame.Refused)
        /// Readers of these channels may find new messages.
        case signalReaders([ChannelName])
        /// Have the app load a snapshot; answered by `snapshotTaken`, at any time.
        case requestSnapshot(ChannelName, SubscriptionMachine.Snapshot)
    }

    /// How the connection ended, while some of its data is still on its way to the disk.
    private struct Ending: Sendable { var closeCode: CloseCode? }

    private let settings: Settings
    private var device = EntryID(unchecked: "")
    private var connection: ConnectionMachine
    private var tokens: TokenMachine
    private var channels: SubscriptionTable
    private var disk = CommitMachine()
    private var output = ChannelsOutput()
    private var decoder = FrameDecoder()
    private var tally = ConnectionTally()
    /// A dial waits for memory to be read again.
    private var dialsAfterReload = false
    /// A dial waits for the app's token.
    private var awaitsToken = false
    /// The server takes this connection for another user's: nothing on it is read.
    private var isStranger = false
    /// The close code of the last connection.
    private var disposition: CloseCode?
    private var ending: Ending?
    /// Why the last connection ended.
    private var disconnection = Disconnection()

    /// Whether the next hello says that the device is not in use.
    package var isUnused = false

    package init(settings: Settings = Settings()) {
        self.settings = settings
        connection = ConnectionMachine(settings: settings.connection)
        tokens = TokenMachine(settings: settings.tokens)
        channels = SubscriptionTable(settings: settings.subscription)
    }

    // MARK: The driver's queries

    /// Whether frames may be read from the connection now.
    package var mayRead: Bool { disk.mayRead }

    /// Whether a retry is useless, whatever is still to be read from the connection.
    package var isFatal: Bool { disk.fatal != nil }

    /// Whether nothing is on its way to the disk or back.
    package var isSettled: Bool { disk.isSettled }

    /// Memory may differ from the disk.
    package var isStale: Bool { disk.isStale }

    /// Frames that are unreadable, or belong to none of the channels.
    package var unroutableFrames: Int64 { channels.unroutableFrames }

    /// Whether a channel's state may be read from the journal, for `subscribed`: an earlier
    /// subscription of it can still be on its way to the disk.
    package func mayLoad(_ channel: ChannelName) -> Bool { disk.mayLoad(channel) }

    /// Whether nothing is open, nothing will be opened before the app is in the foreground, and
    /// everything received is on the disk.
    package var isAtRest: Bool { connection.isAtRest && isSettled }

    package var isAwake: Bool { connection.isAwake }

    package var isAsleep: Bool { connection.isAsleep }

    /// The subscribed channels.
    var channelNames: [ChannelName] { channels.channels }

    package func isSubscribed(_ channel: ChannelName) -> Bool { channels.contains(channel) }

    /// Memory's state of a channel, to check it against the disk.
    package func machine(of channel: ChannelName) -> SubscriptionMachine? {
        channels.machine(of: channel)
    }

    func diagnostics(of channel: ChannelName, at now: Duration) -> ChannelDiagnostics? {
        channels.diagnostics(of: channel, at: now)
    }

    func diagnostics(state: ConnectionState, at now: Duration, wall: WallTime)
        -> ConnectionDiagnostics
    {
        var diagnostics = ConnectionDiagnostics(state: state)
        diagnostics.reconnects = max(0, tally.welcomes - 1)
        diagnostics.connectedSince = tally.connectedAt.map { wall.advanced(by: $0 - now) }
        diagnostics.framesRead = tally.framesRead
        diagnostics.unroutableFrames = unroutableFrames
        diagnostics.lastError = tally.lastError
        diagnostics.channels = channels.count
        return diagnostics
    }

    // MARK: The life of the connection

    /// The driver runs, as the device of this id.
    package mutating func started(as device: EntryID, at now: Duration) -> [Action] {
        self.device = device
        disk.started()
        disconnection = Disconnection()
        channels.show(isClosed: false, &output)
        perform(connection.started(at: now), at: now)
        return output.take()
    }

    /// The driver has ended, and each loader of a snapshot.
    package mutating func stopped() -> [Action] {
        connection.stopped()
        dialsAfterReload = false
        awaitsToken = false
        perform(tokens.abandoned(), at: .zero, jitter: 0)
        output.emit(.announce(.idle))
        channels.stopped()
        channels.show(isClosed: true, &output)
        return output.take()
    }

    package mutating func dialSucceeded(at now: Duration) -> [Action] {
        disconnection = Disconnection()
        decoder = FrameDecoder()
        perform(connection.dialSucceeded(at: now), at: now)
        return output.take()
    }

    package mutating func dialFailed(_ error: any Error, at now: Duration, jitter: Double)
        -> [Action]
    {
        disconnection = Disconnection(error: Self.described(error))
        tally.lastError = disconnection.error
        perform(connection.dialFailed(at: now, jitter: jitter), at: now)
        return output.take()
    }

    package mutating func woke(at now: Duration, jitter: Double) -> [Action] {
        for timer in output.woke(at: now) {
            switch timer {
            case .sleep: perform(connection.sleepDue(at: now), at: now)
            case .token:
                perform(tokens.timerFired(at: now, jitter: jitter), at: now, jitter: jitter)
            case .connection: perform(connection.timerFired(at: now), at: now)
            case .reload: reload()
            case .channel(let name): channels.timerFired(name, at: now, &output)
            }
        }
        flush()
        output.rearm()
        return output.take()
    }

    /// The connection has ended.
    ///
    /// Nothing of it may remain when the next one is made: received frames are written, requests
    /// are forgotten.
    package mutating func disconnected(
        closeCode: CloseCode?, error: (any Error)?, at now: Duration, jitter: Double
    ) -> [Action] {
        if let error, disconnection == Disconnection() {
            disconnection = Disconnection(error: Self.described(error))
        }
        if disconnection == Disconnection() { disconnection = Disconnection(closeCode: closeCode) }
        tally.connectedAt = nil
        tally.lastError = disconnection.error ?? tally.lastError
        output.emit(.closeSession)
        tokens.disconnected()
        output.connectionEnded()
        channels.disconnected(&output)
        ending = Ending(closeCode: closeCode)
        disk.connectionEnded()
        finishEnding(at: now, jitter: jitter)
        return output.take()
    }

    /// Continues once nothing of the connection is on its way to the disk.
    private mutating func finishEnding(at now: Duration, jitter: Double) {
        guard let ending, isSettled else { return }
        self.ending = nil
        let isForgiven = judgeToken(connection.disposition(closeCode: ending.closeCode))
        let steps = connection.ended(
            closeCode: ending.closeCode, isForgiven: isForgiven, at: now, jitter: jitter)
        if let fatal = disk.fatal { return output.emit(.stop(fatal)) }
        perform(steps, at: now)
    }

    private mutating func perform(_ steps: [ConnectionMachine.Action], at now: Duration) {
        for step in steps {
            switch step {
            case .dial: dial(at: now)
            case .abandonDial: abandonDial(at: now)
            case .wait(let delay):
                output.emit(.announce(.waiting(delay: delay, because: disconnection)))
                output.schedule(.connection, at: now + delay)
            case .awaitNetwork: output.emit(.announce(.offline))
            case .awaitForeground: output.emit(.announce(.suspended))
            case .confirm: output.emit(.announce(.connected))
            case .stop: giveUp()
            case .sayHello:
                let hello = ClientFrame.Hello(
                    device: device, client: settings.client, token: tokens.token,
                    isIdle: isUnused)
                output.emit(.send([ClientFrame.hello(hello).encoded()]))
            case .begin: break  // `greet` knows what the server said
            case .close(let code):
                if let error = Self.reason(code) { disconnection = Disconnection(error: error) }
                output.emit(.close(code))
            case .probe(let number): output.emit(.probe(number))
            case .scheduleTimer(let moment): output.schedule(.connection, at: moment)
            case .scheduleSleep(let moment):
                if let moment { output.schedule(.sleep, at: moment) } else { output.cancel(.sleep) }
            }
        }
    }

    private static func reason(_ code: CloseCode) -> RepriseError? {
        switch code {
        case .unsupportedVersion:
            RepriseError(.refused, "The server speaks another version of the protocol.")
        case .handshakeTimedOut:
            RepriseError(.timedOut, "The server did not welcome us in time.")
        case .idle: RepriseError(.timedOut, "Nothing came from the server for too long.")
        default: nil
        }
    }

    private static func described(_ error: any Error) -> RepriseError {
        if let error = error as? RepriseError { return error }
        return RepriseError(.unreachable, "The connection failed.", cause: error)
    }

    private mutating func flush() {
        if channels.takeReconnect() {
            // It closes, and that takes no time.
            perform(connection.reconnectRequested(), at: .zero)
        }
        channels.flush(&output)
    }

    // MARK: Channels

    /// A caller wants a channel; `stored` is its state in the journal, read while ``mayLoad(_:)``.
    package mutating func subscribed(
        _ channel: ChannelName, stored: ChannelStore.Stored?, at now: Duration
    ) -> [Action] {
        subscribed([(channel, stored)], at: now)
    }

    /// A caller wants many channels: they are requested together.
    package mutating func subscribed(
        _ wanted: [(name: ChannelName, stored: ChannelStore.Stored?)], at now: Duration
    ) -> [Action] {
        for channel in wanted {
            channels.add(
                channel.name, stored: channel.stored, isConnected: connection.isReady, at: now,
                &output)
        }
        flush()
        return output.take()
    }

    /// A caller wants a subscribed channel: a refused one is requested again.
    package mutating func subscribedAgain(_ channel: ChannelName, at now: Duration) -> [Action] {
        channels.wantedAgain(channel, at: now, &output)
        flush()
        return output.take()
    }

    package mutating func unsubscribed(_ channel: ChannelName) -> [Action] {
        if channels.remove(channel, &output) { disk.drop(channel) }
        return output.take()
    }

    /// The channel is visible: it is caught up before the others, even during a catch-up.
    package mutating func appeared(_ channel: ChannelName, at now: Duration) -> [Action] {
        channels.appeared(channel, at: now, &output)
        flush()
        return output.take()
    }

    package mutating func disappeared(_ channel: ChannelName) { channels.disappeared(channel) }

    /// The app loads a snapshot of the channel when messages of it are lost.
    package mutating func snapshotsWanted(_ channel: ChannelName) -> [Action] {
        channels.snapshotsWanted(channel, &output)
        return output.take()
    }

    /// The app has loaded a snapshot, durably; called only while ``mayRead``.
    package mutating func snapshotTaken(
        _ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName, at now: Duration
    ) -> [Action] {
        precondition(mayRead, "driver bug: snapshotTaken while \(disk)")
        let batch = channels.snapshotTaken(snapshot, of: channel, at: now, &output)
        flush()
        if let batch { submit(batch) }
        return output.take()
    }

    /// The app could not load it; it is asked again, and the server whether it is still current.
    package mutating func snapshotFailed(_ error: any Error, of channel: ChannelName) -> [Action] {
        channels.snapshotFailed(error, of: channel, &output)
        flush()
        return output.take()
    }

    // MARK: Frames

    /// Frames have arrived together, at most `framesPerCommit` of them; called only while
    /// ``mayRead``.
    ///
    /// No content of a frame traps here.
    package mutating func framesReceived(
        _ frames: ArraySlice<[UInt8]>, at now: Duration, jitter: Double
    ) -> [Action] {
        precondition(mayRead, "driver bug: framesReceived while \(disk)")
        connection.framesReceived(at: now)
        guard !isStranger else { return output.take() }
        tally.framesRead += Int64(frames.count)
        var reading = SubscriptionTable.Reading(at: now, jitter: jitter)
        var welcome: ServerFrame.Welcome?
        for bytes in frames {
            guard let frame = try? decoder.serverFrame(bytes) else {
                channels.noteUnreadable()
                continue
            }
            if case .event(let event) = frame {
                channels.receive(event, &reading)
            } else {
                receive(frame, &reading, &welcome)
            }
        }
        channels.finish(&reading, &output)
        if let welcome { greet(welcome, at: now, jitter: jitter) }
        flush()
        submit(reading.batch)
        return output.take()
    }

    private mutating func receive(
        _ frame: ServerFrame, _ reading: inout SubscriptionTable.Reading,
        _ welcome: inout ServerFrame.Welcome?
    ) {
        let (now, jitter) = (reading.now, reading.jitter)
        switch frame {
        case .event: break  // the hot path, above
        case .welcome(let frame): welcome = frame
        case .published(let published):
            let isSubscribed = channels.contains(published.channel)
            output.emit(.published(published, isSubscribed: isSubscribed))
        case .authenticated(let session): authenticated(session, at: now, jitter: jitter)
        case .positions, .receipt, .typing, .presence: output.emit(.heard(frame))
        case .error(let code, let message):
            connection.errorReceived(code)
            disconnection = Disconnection(
                closeCode: code, error: RepriseError(.unavailable, "The server says: \(message)"))
        case .heartbeat(_, let heads): channels.receive(heads: heads, at: now, &output)
        case .refused(let refused):
            if refused.id != nil { return output.emit(.refused(refused)) }
            channels.receive(refused.channel, &reading, &output) {
                $0.refusedReceived(refused, at: now, jitter: jitter)
            }
        case .subscribed(let subscribed):
            channels.receive(subscribed, &reading, &output)
            output.emit(.heard(frame))
        case .gone(let channel, let gone):
            channels.receive(channel.text, &reading, &output) { $0.goneReceived(gone) }
        case .syncComplete(let complete):
            channels.receive(complete.channel.text, &reading, &output) {
                $0.syncCompleteReceived(complete, at: now, jitter: jitter)
            }
        }
    }

    private mutating func greet(_ welcome: ServerFrame.Welcome, at now: Duration, jitter: Double) {
        if let mistake = tokens.mismatch(welcome.session) { return refuse(mistake, at: now) }
        let steps = connection.welcomeReceived(welcome, at: now)
        perform(steps, at: now)
        guard steps.contains(.begin) else { return }
        perform(tokens.welcomed(welcome, at: now, jitter: jitter), at: now, jitter: jitter)
        tally.welcomes += 1
        tally.connectedAt = now
        output.emit(.announce(.connected))
        channels.connected(at: now, &output)
        flush()
        output.emit(
            .openSession(
                serverTime: welcome.time, user: welcome.session?.user,
                directory: welcome.directory, hasPresence: welcome.hasPresence))
    }

    // MARK: The disk

    private mutating func submit(_ batch: StagedBatch) {
        guard let batch = disk.submit(batch) else { return }
        output.emit(.commit(batch, at: channels.positions(of: batch.channels)))
    }

    /// The batch is durable; `moved` holds the new positions of its logs.
    package mutating func committed(
        _ moved: [ChannelName: LogPosition], at now: Duration, jitter: Double
    ) -> [Action] {
        let written = disk.committed()
        if written.hadFailed, connection.isReady { output.emit(.announce(.connected)) }
        output.emit(.signalReaders(written.channels))
        channels.committed(written.revisions, moved: moved, at: now, jitter: jitter, &output)
        flush()
        if let next = disk.next() { submit(next) }
        finishEnding(at: now, jitter: jitter)
        return output.take()
    }

    /// Nothing of the batch was written, or that is unknown.
    ///
    /// The disk is the truth: memory returns to it, and lost frames are requested again. Nothing is
    /// read from the network meanwhile, so nothing piles up.
    package mutating func commitFailed(_ error: any Error, at now: Duration, jitter: Double)
        -> [Action]
    {
        recover(
            from: error, after: disk.commitFailed(error, jitter: jitter), at: now, jitter: jitter)
        return output.take()
    }

    /// A retry is useless without a wait.
    private mutating func recover(
        from error: any Error, after wait: Duration?, at now: Duration, jitter: Double
    ) {
        guard let wait else {
            output.emit(.close(.normal))
            return finishEnding(at: now, jitter: jitter)
        }
        guard ending == nil else { return finishEnding(at: now, jitter: jitter) }
        output.emit(.announce(.stuck(Self.described(error))))
        disk.paused()
        output.schedule(.reload, at: now + wait)
    }

    /// Reads the positions again.
    private mutating func reload() {
        // A dial reads within the pause: its end must not read again, beside a write.
        output.cancel(.reload)
        disk.reloads()
        output.emit(.reload(channels.channels))
    }

    /// The journal's state of the requested channels; nil: none.
    package mutating func reloaded(
        _ found: [ChannelName: ChannelStore.Stored?], at now: Duration, jitter: Double
    ) -> [Action] {
        disk.reloaded()
        channels.reloaded(found, at: now, &output)
        if dialsAfterReload {
            dialsAfterReload = false
            fetchToken(at: now)
        }
        flush()
        finishEnding(at: now, jitter: jitter)
        return output.take()
    }

    package mutating func reloadFailed(_ error: any Error, at now: Duration, jitter: Double)
        -> [Action]
    {
        guard !dialsAfterReload else {
            disk.reloadFailed()
            dialsAfterReload = false
            disconnection = Disconnection(error: Self.described(error))
            perform(connection.dialFailed(at: now, jitter: jitter), at: now)
            return output.take()
        }
        recover(from: error, after: disk.failed(error, jitter: jitter), at: now, jitter: jitter)
        return output.take()
    }

    // MARK: Dialling

    /// Memory first, then a token, then the dial.
    private mutating func dial(at now: Duration) {
        output.emit(.announce(.connecting))
        isStranger = false
        guard isStale else { return fetchToken(at: now) }
        dialsAfterReload = true
        if !disk.isReloading { reload() }
    }

    private mutating func fetchToken(at now: Duration) {
        awaitsToken = true
        perform(tokens.wanted(at: now), at: now, jitter: 0)
    }

    /// Whatever part of the dial has begun ends as a failure.
    private mutating func abandonDial(at now: Duration) {
        guard dialsAfterReload || awaitsToken else { return output.emit(.abandonDial) }
        dialsAfterReload = false
        if awaitsToken { perform(tokens.abandoned(), at: now, jitter: 0) }
        awaitsToken = false
        perform(connection.dialFailed(at: now, jitter: 0), at: now)
    }

    // MARK: Tokens

    private mutating func perform(_ steps: [TokenMachine.Action], at now: Duration, jitter: Double)
    {
        for step in steps {
            switch step {
            case .ask(let number, let reason): output.emit(.askToken(number, reason))
            case .abandon: output.emit(.abandonToken)
            case .proceed:
                awaitsToken = false
                output.emit(.dial)
            case .giveUp(let error): tokenMissing(error, at: now, jitter: jitter)
            case .authenticate(let token):
                output.emit(.send([ClientFrame.authenticate(token).encoded()]))
            case .scheduleTimer(let moment): output.schedule(.token, at: moment)
            case .warn(let error?): output.emit(.announce(.expiring(error)))
            case .warn(nil): output.emit(.announce(.connected))
            }
        }
    }

    private mutating func tokenMissing(_ error: RepriseError, at now: Duration, jitter: Double) {
        awaitsToken = false
        disconnection = Disconnection(error: error)
        guard error.code == .unauthorized else {
            return perform(connection.dialFailed(at: now, jitter: jitter), at: now)
        }
        disposition = .unauthorized
        perform(connection.dialRefused(), at: now)
    }

    package mutating func tokenReceived(
        _ token: AccessToken, for number: Int, at now: Duration, jitter: Double
    ) -> [Action] {
        perform(
            tokens.received(token, for: number, at: now, jitter: jitter), at: now, jitter: jitter)
        return output.take()
    }

    /// The app has thrown: of a foreign error only the type is kept, because the rest may hold a
    /// secret.
    package mutating func tokenFailed(
        _ error: any Error, for number: Int, at now: Duration, jitter: Double
    ) -> [Action] {
        let error = Self.withoutSecrets(error)
        perform(tokens.failed(error, for: number, at: now, jitter: jitter), at: now, jitter: jitter)
        return output.take()
    }

    private static func withoutSecrets(_ error: any Error) -> RepriseError {
        if let error = error as? RepriseError { return error }
        return RepriseError(.unavailable, "The app has no token: \(type(of: error)).")
    }

    private mutating func authenticated(
        _ session: ServerFrame.Session, at now: Duration, jitter: Double
    ) {
        if let mistake = tokens.mismatch(session) { return refuse(mistake, at: now) }
        perform(tokens.authenticated(session, at: now, jitter: jitter), at: now, jitter: jitter)
    }

    /// The server takes this device for another user: nothing of this connection is valid.
    private mutating func refuse(_ mistake: RepriseError, at now: Duration) {
        disconnection = Disconnection(error: mistake)
        isStranger = true
        perform(connection.strangerWelcomed(), at: now)
    }

    /// - Returns: whether the connection ended because of its token, and another one is possible.
    private mutating func judgeToken(_ disposition: CloseCode?) -> Bool {
        self.disposition = disposition
        if disposition == .tokenExpired { tokens.ended() }
        return disposition == .unauthorized && tokens.refused()
    }

    /// Another connection would end the same way.
    ///
    /// If the token is the reason, the client waits for a sign-in, and goes on with the journal's
    /// content meanwhile.
    private mutating func giveUp() {
        guard tokens.isUsed, disposition == .unauthorized else {
            return output.emit(.stop(refusal()))
        }
        if disconnection.error?.code != .wrongUser {
            disconnection = Disconnection(
                closeCode: disconnection.closeCode,
                error: RepriseError(
                    .unauthorized, "The server does not take the token. \(disconnection)",
                    remedy: disconnection.error?.remedy ?? "Sign in again, then call reconnect()."))
        }
        output.emit(.announce(.stopped(disconnection)))
    }

    private mutating func refusal() -> RepriseError {
        output.emit(.announce(.stopped(disconnection)))
        return RepriseError(
            .refused, "The server refuses this client. \(disconnection)",
            remedy: "Update the app, or check its credentials.", cause: disconnection.error)
    }

    // MARK: From outside

    /// A connection is wanted now: a person has signed in again, or does not want to wait.
    package mutating func dialRequested(at now: Duration) -> [Action] {
        tokens.renewed()
        perform(connection.dialRequested(at: now), at: now)
        return output.take()
    }

    package mutating func networkChanged(isUsable: Bool, at now: Duration) -> [Action] {
        perform(connection.networkChanged(isUsable: isUsable, at: now), at: now)
        return output.take()
    }

    package mutating func backgrounded(until end: Duration, at now: Duration) -> [Action] {
        perform(connection.backgrounded(until: end, at: now), at: now)
        return output.take()
    }

    package mutating func foregrounded(at now: Duration) -> [Action] {
        perform(connection.foregrounded(at: now), at: now)
        return output.take()
    }

    package mutating func probeAnswered(_ number: Int, at now: Duration) -> [Action] {
        perform(connection.probeAnswered(number, at: now), at: now)
        return output.take()
    }

    package mutating func probeFailed(_ number: Int, at now: Duration) -> [Action] {
        perform(connection.probeFailed(number), at: now)
        return output.take()
    }
}
