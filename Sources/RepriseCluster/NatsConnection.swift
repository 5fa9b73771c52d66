import CNats
import Foundation
import Logging
import RepriseCore
import Synchronization

/// A connection to NATS, which the library `nats.c` keeps: it dials anew, any server that it knows,
/// until one refuses its credentials twice, or ends it for good.
final class NatsConnection: Sendable {
    // The library locks it.
    nonisolated(unsafe) private let connection: OpaquePointer
    private let watch: Watch
    /// The library's calls may block: on a socket that takes nothing for ``writeDeadline``.
    private let sending = DispatchQueue(label: "reprise.nats.send")
    private let asking = DispatchQueue(label: "reprise.nats.ask")
    /// For what takes long, so that readings do not wait behind it.
    private let storing = DispatchQueue(label: "reprise.nats.store")

    /// How long a server may take nothing before the connection is given up.
    static let writeDeadline: Duration = .seconds(5)
    /// How long a dial may take.
    static let dialTimeout: Duration = .seconds(3)
    /// How often a question is asked again that nobody answers.
    static let askAgain: Duration = .milliseconds(250)
    /// How long a question waits before it looks whether its caller is cancelled.
    private static let turn: Duration = .milliseconds(50)
    /// The pause before a server is dialled again, and what may be added to it.
    static let pause: Duration = .milliseconds(100)
    /// Two unanswered pings end a connection.
    static let pingInterval: Duration = .seconds(2)
    /// The most bytes of messages of a subscription that wait, beyond which they are dropped and
    /// read; and of the answers to one question.
    static let waitingBytes = 64 << 20

    /// Dials the servers in a random order, each once.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unreachable`; `.refused` if the servers do not know
    ///   this gateway; `.badConfiguration` if a file cannot be used.
    static func open(
        _ configuration: NatsConfiguration, name: String, logger: Logger
    ) async throws -> NatsConnection {
        try await DispatchQueue.global().result {
            try NatsConnection(configuration, name: name, logger: logger)
        }
    }

    private init(_ configuration: NatsConfiguration, name: String, logger: Logger) throws {
        watch = Watch(logger: logger)
        let options = try NatsOptions(configuration, name: name)
        let closure = Unmanaged.passRetained(watch)
        natsOptions_SetDisconnectedCB(
            options.pointer, { _, closure in Watch.of(closure)?.changed(isConnected: false) },
            closure.toOpaque())
        natsOptions_SetReconnectedCB(
            options.pointer, { _, closure in Watch.of(closure)?.changed(isConnected: true) },
            closure.toOpaque())
        natsOptions_SetErrorHandler(
            options.pointer,
            { connection, _, status, closure in
                let last = NatsFailure.last(of: connection)
                let text = last.status == status ? last.text : nil
                Watch.of(closure)?.failed(status, text ?? NatsFailure.text(status))
            },
            closure.toOpaque())
        natsOptions_SetClosedCB(
            options.pointer,
            { connection, closure in
                guard let closure else { return }
                let last = NatsFailure.last(of: connection)
                // The last that is called.
                Unmanaged<Watch>.fromOpaque(closure).takeRetainedValue()
                    .closed(last.text ?? NatsFailure.text(last.status))
            },
            closure.toOpaque())
        var made: OpaquePointer?
        let status = natsConnection_Connect(&made, options.pointer)
        guard status == NATS_OK, let made else {
            closure.release()
            throw NatsFailure.ofDialling(status, configuration)
        }
        connection = made
        logger.notice("connected to NATS")
    }

    deinit {
        watch.end()
        natsConnection_Destroy(connection)
    }

    /// Whether a server is there, as the library has told it: a moment late.
    ///
    /// Does not ask the library: it holds its lock while it dials, which takes seconds.
    var isConnected: Bool { watch.isConnected }

    /// Another one after each loss of the connection, before anything comes over the new one; nil
    /// while no server is there.
    ///
    /// Does not block. The library tells of a loss and of a new connection on a thread of its own,
    /// perhaps after what came over the new one. So whoever receives a message asks for
    /// ``reconnects(of:)`` behind it, and notes that here before the message is handed on.
    var number: UInt64? { watch.number }

    /// How often it has dialled anew: counted under the library's lock, before it asks for messages
    /// over the new connection.
    ///
    /// Blocks while it dials, so it is asked on threads that may block.
    private static func reconnects(of connection: OpaquePointer?) -> UInt64? {
        var statistics: OpaquePointer?
        guard natsStatistics_Create(&statistics) == NATS_OK, let statistics else { return nil }
        defer { natsStatistics_Destroy(statistics) }
        var reconnects: UInt64 = 0
        guard natsConnection_GetStats(connection, statistics) == NATS_OK,
            natsStatistics_GetCounts(statistics, nil, nil, nil, nil, &reconnects) == NATS_OK
        else { return nil }
        return reconnects
    }

    /// The most bytes of a message that the server takes.
    var maxPayload: Int64 { natsConnection_GetMaxPayload(connection) }

    /// The number of servers that it knows.
    var serverCount: Int {
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        var count: Int32 = 0
        guard natsConnection_GetServers(connection, &list, &count) == NATS_OK else { return 0 }
        for index in 0..<Int(count) { free(list?[index]) }
        free(list)
        return Int(count)
    }

    /// An address that nobody else has, for answers.
    func inbox() -> String { "_INBOX.\(UUID().uuidString)" }

    /// Sends bytes, in the order of the calls; they are lost if no server is there.
    func publish(_ bytes: [UInt8], to subject: String, answer: String? = nil) {
        sending.async { [self] in
            // The library would keep it for the next connection, for ever.
            guard isConnected else { return }
            _ = Self.publish(connection, bytes, to: subject, answer: answer)
        }
    }

    private static func publish(
        _ connection: OpaquePointer, _ bytes: [UInt8], to subject: String, answer: String?
    ) -> natsStatus {
        bytes.withUnsafeBytes { bytes in
            if let answer {
                natsConnection_PublishRequest(
                    connection, subject, answer, bytes.baseAddress, Int32(bytes.count))
            } else {
                natsConnection_Publish(
                    connection, subject, bytes.baseAddress, Int32(bytes.count))
            }
        }
    }

    /// Asks, and waits for one answer.
    ///
    /// - Parameters:
    ///   - subject: whom.
    ///   - body: what.
    ///   - within: how long it waits for a server, and then for an answer.
    ///   - isRepeated: whether it asks again every ``askAgain`` until then. Who asks about a stream
    ///     that has no leader gets no answer, also once there is one.
    /// - Returns: the first answer.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if nobody answers.
    func ask(
        _ subject: String, _ body: some Encodable & Sendable, within: Duration = .seconds(5),
        isRepeated: Bool = false
    ) async throws -> NatsMessage {
        let answers = try await ask(
            subject, bytes: Array(try JSONEncoder().encode(body)), within: within, on: asking,
            isRepeated: isRepeated, isLast: { _ in true })
        guard let answer = answers.first else { throw NatsFailure.noAnswer(subject) }
        return answer
    }

    /// Asks with bytes, beside all other questions, and waits for one answer.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if nobody answers.
    func askAside(
        _ subject: String, bytes: [UInt8], within: Duration
    ) async throws -> NatsMessage {
        let answers = try await ask(
            subject, bytes: bytes, within: within, on: storing, isLast: { _ in true })
        guard let answer = answers.first else { throw NatsFailure.noAnswer(subject) }
        return answer
    }

    /// The same, with JSON.
    func askAside(
        _ subject: String, _ body: some Encodable & Sendable, within: Duration
    ) async throws -> NatsMessage {
        try await askAside(
            subject, bytes: Array(try JSONEncoder().encode(body)), within: within)
    }

    /// Asks, and collects the answers until one is the last; each may take `within`.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if one does not come.
    func ask(
        _ subject: String, _ body: some Encodable & Sendable, within: Duration,
        isLast: @escaping @Sendable (NatsMessage) -> Bool
    ) async throws -> [NatsMessage] {
        try await ask(
            subject, bytes: Array(try JSONEncoder().encode(body)), within: within, on: asking,
            isLast: isLast)
    }

    private func ask(
        _ subject: String, bytes body: [UInt8], within: Duration, on queue: DispatchQueue,
        isRepeated: Bool = false, isLast: @escaping @Sendable (NatsMessage) -> Bool
    ) async throws -> [NatsMessage] {
        try await queue.result { [self] isCancelled in
            try awaitServer(within, isCancelled, subject)
            let inbox = inbox()
            var subscription: OpaquePointer?
            try NatsFailure.check(
                natsConnection_SubscribeSync(&subscription, connection, inbox), subject)
            defer {
                natsSubscription_Unsubscribe(subscription)
                natsSubscription_Destroy(subscription)
            }
            func ask() throws {
                guard isConnected else { return }
                try NatsFailure.check(
                    Self.publish(connection, body, to: subject, answer: inbox), subject)
            }
            try ask()
            var (answers, bytes): ([NatsMessage], Int) = ([], 0)
            while true {
                let message = try Self.next(
                    subscription, within, isCancelled, subject, again: isRepeated ? ask : {})
                guard let message else { throw NatsFailure.noAnswer(subject) }
                defer { natsMsg_Destroy(message) }
                let answer = NatsMessage(message)
                guard answer.status != 503 else { throw NatsFailure.nobodyAsked(subject) }
                answers.append(answer)
                if isLast(answer) {
                    guard let number = Self.reconnects(of: connection) else {
                        throw NatsFailure.noAnswer(subject)
                    }
                    watch.heard(over: number)
                    return answers
                }
                bytes += answer.bytes.count + MemoryLayout<NatsMessage>.size
                // No server sends as much: somebody else answers.
                guard bytes <= Self.waitingBytes else { throw NatsFailure.noAnswer(subject) }
            }
        }
    }

    /// Waits in short turns until a server is there: the library would keep what is asked for the
    /// next connection, for ever.
    private func awaitServer(
        _ within: Duration, _ isCancelled: () -> Bool, _ subject: String
    ) throws {
        var left = within
        while !isConnected {
            if isCancelled() { throw CancellationError() }
            guard left > .zero, !watch.isOver else { throw NatsFailure.noAnswer(subject) }
            Thread.sleep(forTimeInterval: Self.turn / .seconds(1))
            left -= Self.turn
        }
    }

    /// Waits for a message in short turns, since the library cannot be told to give up; asks again
    /// every ``askAgain``.
    private static func next(
        _ subscription: OpaquePointer?, _ within: Duration, _ isCancelled: () -> Bool,
        _ subject: String, again: () throws -> Void
    ) throws -> OpaquePointer? {
        var (left, message): (Duration, OpaquePointer?) = (within, nil)
        var asked = within
        while true {
            if isCancelled() { throw CancellationError() }
            if asked - left >= askAgain {
                asked = left
                try again()
            }
            let wait = min(left, Self.turn)
            let status = natsSubscription_NextMsg(
                &message, subscription, Int64(wait / .milliseconds(1)))
            left -= wait
            if status == NATS_TIMEOUT, left > .zero { continue }
            try NatsFailure.check(status, subject)
            return message
        }
    }

    /// Calls `body` with each message of a subject, in order, on a thread of the library, until
    /// the connection is closed.
    func subscribe(
        to subject: String, _ body: @escaping @Sendable (NatsMessage, String) -> Void
    ) throws {
        let receiver = Unmanaged.passRetained(Receiver(watch, body))
        var subscription: OpaquePointer?
        let status = natsConnection_Subscribe(
            &subscription, connection, subject,
            { connection, _, message, closure in
                guard let message, let closure else { return }
                defer { natsMsg_Destroy(message) }
                guard let number = NatsConnection.reconnects(of: connection) else { return }
                let receiver = Unmanaged<Receiver>.fromOpaque(closure).takeUnretainedValue()
                receiver.watch.heard(over: number)
                let subject = natsMsg_GetSubject(message).map { String(cString: $0) } ?? ""
                receiver.body(NatsMessage(message), subject)
            }, receiver.toOpaque())
        guard status == NATS_OK, let subscription else {
            receiver.release()
            return try NatsFailure.check(status, subject)
        }
        natsSubscription_SetPendingLimits(subscription, -1, Int32(Self.waitingBytes))
        natsSubscription_SetOnCompleteCB(
            subscription,
            { closure in closure.map { Unmanaged<Receiver>.fromOpaque($0).release() } },
            receiver.toOpaque())
        watch.keep(subscription)
    }

    /// Calls `body` once the library has given the connection up; not after ``close()``.
    func onLoss(_ body: @escaping @Sendable () -> Void) { watch.onLoss(body) }

    /// Returns when a server has taken what was published before, or does not within a second.
    func flush() async {
        _ = try? await sending.result { [self] in
            natsConnection_FlushTimeout(connection, 1_000)
        }
    }

    /// Closes the connection, and ends the subscriptions; a second call does nothing.
    func close() async {
        _ = try? await sending.result { [self] in
            watch.end()
            natsConnection_Close(connection)
        }
    }
}

private final class Receiver: Sendable {
    let watch: Watch
    let body: @Sendable (NatsMessage, String) -> Void

    init(_ watch: Watch, _ body: @escaping @Sendable (NatsMessage, String) -> Void) {
        (self.watch, self.body) = (watch, body)
    }
}

/// What the library tells of a connection.
private final class Watch: Sendable {
    private struct State {
        /// A loss may be told before the first dial has returned.
        var isConnected = true
        /// See ``NatsConnection/number``.
        var number: UInt64 = 0
        var isEnding = false
        var isLost = false
        var onLoss: (@Sendable () -> Void)?
        var missing = MissingRights()
        /// By address: a pointer may not be shared.
        var subscriptions: [UInt] = []
    }

    private let state = Mutex(State())
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    static func of(_ closure: UnsafeMutableRawPointer?) -> Watch? {
        closure.map { Unmanaged<Watch>.fromOpaque($0).takeUnretainedValue() }
    }

    var isConnected: Bool { state.withLock { $0.isConnected } }

    /// Whether no server is dialled any more.
    var isOver: Bool { state.withLock { $0.isEnding || $0.isLost } }

    var number: UInt64? { state.withLock { $0.isConnected ? $0.number : nil } }

    /// Something has come, perhaps over a former connection.
    func heard(over number: UInt64) { state.withLock { $0.number = max($0.number, number) } }

    func changed(isConnected: Bool) {
        let isNew = state.withLock { state in
            defer { state.isConnected = isConnected }
            return state.isConnected != isConnected && !state.isEnding
        }
        guard isNew else { return }
        if isConnected {
            logger.notice("connected to NATS")
        } else {
            logger.warning("NATS is not reachable: connecting again")
        }
    }

    /// A right that is missing is the operator's to give; the rest mends itself.
    func failed(_ status: natsStatus, _ reason: String) {
        let reason = reason.limited(to: 200)
        guard status == NATS_NOT_PERMITTED else {
            return logger.debug("NATS", metadata: ["error": "\(reason)"])
        }
        let isNew = state.withLock { $0.missing.insert(reason) }
        guard isNew else { return }
        logger.error(
            "NATS does not permit what a gateway needs: Examples/cluster/nats.conf has the list",
            metadata: ["error": "\(reason)"])
    }

    /// No server is dialled any more.
    func closed(_ reason: String) {
        let (isLost, body) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            state.isConnected = false
            state.isLost = !state.isEnding
            return (state.isLost, state.isLost ? state.onLoss.take() : nil)
        }
        guard isLost else { return }
        logger.error(
            "NATS has ended the connection, and it is not dialled again",
            metadata: ["error": "\(reason.limited(to: 200))"])
        body?()
    }

    func onLoss(_ body: @escaping @Sendable () -> Void) {
        let isLost = state.withLock { state in
            if !state.isLost { state.onLoss = body }
            return state.isLost
        }
        if isLost { body() }
    }

    func keep(_ subscription: OpaquePointer) {
        let address = UInt(bitPattern: subscription)
        state.withLock { $0.subscriptions.append(address) }
    }

    func end() {
        let subscriptions = state.withLock { state in
            defer { state.subscriptions = [] }
            state.isEnding = true
            return state.subscriptions
        }
        for subscription in subscriptions.compactMap(OpaquePointer.init(bitPattern:)) {
            natsSubscription_Unsubscribe(subscription)
            natsSubscription_Destroy(subscription)
        }
    }
}

private final class Cancelled: Sendable {
    private let flag = Atomic<Bool>(false)

    var value: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}

extension DispatchQueue {
    /// Runs a blocking call on this queue, which can ask whether its caller is cancelled.
    func result<Value: Sendable>(
        _ body: @escaping @Sendable (_ isCancelled: () -> Bool) throws -> Value
    ) async throws -> Value {
        let cancelled = Cancelled()
        return try await withTaskCancellationHandler {
            try await result { try body { cancelled.value } }
        } onCancel: {
            cancelled.set()
        }
    }

    /// Runs a blocking call on this queue.
    func result<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { done in
            async { done.resume(with: Result { try body() }) }
        }
    }
}
