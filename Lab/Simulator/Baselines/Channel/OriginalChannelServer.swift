import RepriseWire

/// A channel server that speaks `case-catch-up`'s protocol, and never fails but where the case
/// study says that it does.
///
/// Kinder than the original's own: the log is never lost, the live subscription stands before the
/// backlog is read, so that no event falls between the two, and the completion frame follows the
/// last event of the catch-up.
final class OriginalChannelServer {
    static let name = "channel-server"

    private final class Subscriber {
        let socket: SimulatedSocket
        var backlog: [[Int]] = []
        var streamsLeft = 0
        /// How many more events come before "nats: subscription closed"; nil: all of them.
        var eventsLeft: Int?

        init(_ socket: SimulatedSocket) { self.socket = socket }
    }

    private let simulation: Simulation
    private let process: SimulatedProcess
    private var random: SeededRandom
    private var head = 0
    private var subscribers: [Subscriber] = []
    private var stalledUntil: Duration = .zero
    /// The next catch-up breaks off.
    private var nextBreaks: (events: Int, closing: Bool)?
    private var isClosing = false

    /// "4 parallel processing threads".
    private static let streams = 4

    init(_ simulation: Simulation, network: SimulatedNetwork) {
        self.simulation = simulation
        process = SimulatedProcess(simulation, name: Self.name)
        random = simulation.random("channel server")
        process.start()
        network.listen(as: Self.name, on: process) { [unowned self] in accept($0) }
    }

    /// Stores a message and sends it to all who are subscribed.
    func publish() {
        head += 1
        simulation.trace(Self.name, "stores message \(head)")
        let frame = OriginalFrame.event(head)
        for subscriber in subscribers { subscriber.socket.send([frame]) }
    }

    private func accept(_ socket: SimulatedSocket) {
        let subscriber = Subscriber(socket)
        socket.received = { [unowned self, unowned subscriber] frames in
            for frame in frames {
                guard let from = OriginalFrame.number("syncState", in: frame) else { continue }
                subscribe(subscriber, from: from)
            }
        }
        socket.closed = { [unowned self, unowned subscriber] _ in
            subscribers.removeAll { $0 === subscriber }
        }
        subscribers.append(subscriber)
    }

    // MARK: Catch-up

    /// "numPending=5 (backlog)": all of it over parallel streams, out of order.
    private func subscribe(_ subscriber: Subscriber, from highest: Int) {
        let backlog = Array((highest + 1)..<(max(head, highest) + 1))
        simulation.trace(
            Self.name,
            backlog.isEmpty
                ? "nothing to catch up on behind \(highest)"
                : "CATCH-UP MODE: \(backlog[0])...\(head)")
        subscriber.backlog = (0..<Self.streams).map { stream in
            backlog.filter { $0 % Self.streams == stream }
        }
        subscriber.streamsLeft = Self.streams
        if let breaking = nextBreaks, backlog.count > breaking.events {
            subscriber.eventsLeft = breaking.events
            isClosing = breaking.closing
            nextBreaks = nil
        }
        for stream in 0..<Self.streams { sendNext(subscriber, stream) }
    }

    private func sendNext(_ subscriber: Subscriber, _ stream: Int) {
        var delay: Duration = .microseconds(500 + random.index(40_000))
        // One of the streams is slow, the others are not: it is they who overtake it.
        if stream == 0 { delay = max(delay, stalledUntil - simulation.now) }
        simulation.after(delay, on: process) { [self] in
            guard !subscriber.backlog[stream].isEmpty else { return streamEnded(subscriber) }
            if let left = subscriber.eventsLeft {
                guard left > 0 else { return breakOff(subscriber) }
                subscriber.eventsLeft = left - 1
            }
            let seq = subscriber.backlog[stream].removeFirst()
            subscriber.socket.send([OriginalFrame.event(seq)])
            sendNext(subscriber, stream)
        }
    }

    private func streamEnded(_ subscriber: Subscriber) {
        guard subscriber.streamsLeft > 0 else { return }
        subscriber.streamsLeft -= 1
        guard subscriber.streamsLeft == 0 else { return }
        subscriber.socket.send([OriginalFrame.syncComplete])
    }

    // MARK: What the case study says goes wrong

    /// One stream of each catch-up that begins within `duration` waits for the end of it.
    func stall(for duration: Duration) {
        simulation.met(.handlerLate)
        simulation.trace(
            Self.name, "one of the four streams is stalled for \(Baseline.seconds(duration))")
        stalledUntil = simulation.now + duration
    }

    /// The next catch-up that has more than so many events breaks off behind them, with a
    /// close or without a word.
    func breakNextCatchUp(after events: Int, closing: Bool) { nextBreaks = (events, closing) }

    private func breakOff(_ subscriber: Subscriber) {
        guard subscriber.streamsLeft > 0 else { return }
        subscriber.streamsLeft = 0
        simulation.met(.handlerThrows)
        simulation.trace(Self.name, "Error fetching messages: nats: subscription closed")
        guard isClosing else { return }
        subscriber.socket.close(CloseCode(1011))
        subscribers.removeAll { $0 === subscriber }
    }
}
