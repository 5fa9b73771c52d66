import NIOCore
import RepriseCore
import RepriseWire
import Synchronization

/// Reads the log and the accounts for connections, and encodes the results, off the event loops.
///
/// Concurrency is limited; other connections queue, each once: see ``ReadSlots``.
final class LogReader: Sendable {
    /// A read for a subscription.
    struct Request: Sendable {
        let read: ServerSubscriptionMachine.Read
        let channel: ChannelName
        let ticket: UInt32
        /// The user whose positions are read with the state; nil where access is open.
        var user: UserID?
        /// Unread messages are counted from here at the earliest.
        var unreadAfter: Int64 = 0
    }

    /// The result of a read.
    struct Answer: Sendable {
        let channel: ChannelName
        let ticket: UInt32
        let content: ServerSubscriptionMachine.Answer
        /// A page as frames, ready to send.
        var page = ByteBuffer()
        var eventCount = 0
        /// Only with a state.
        var positions: Positions?
        var error: (any Error)?
    }

    /// The users' positions at the time of the read.
    struct Positions: Sendable {
        /// The requesting user.
        let user: UserID
        /// That user's read position by receipts alone; the frame's also counts the joining.
        let stored: Int64
        let frame: ServerFrame.Positions
        /// The frame to send if no position has changed since.
        let bytes: ByteBuffer
    }

    private typealias Work = @Sendable () async -> Void

    private let log: any MessageLog
    private let accounts: (any ChannelAccounts)?
    private let barrier: ReadBarrier?
    private let pageMessages: Int
    private let pageBytes: Int
    private let slots: Mutex<ReadSlots<Work>>

    init(
        log: any MessageLog, accounts: (any ChannelAccounts)?, barrier: ReadBarrier?,
        limits: ServerLimits
    ) {
        self.log = log
        self.accounts = accounts
        self.barrier = barrier
        pageMessages = limits.pageMessages
        pageBytes = limits.pageBytes
        slots = Mutex(ReadSlots(slots: limits.logReaders))
    }

    /// The number of queued connections.
    var waitingCount: Int { slots.withLock { $0.waitingCount } }

    /// Performs one read.
    func start(_ request: Request, then answer: @escaping @Sendable (Answer) -> Void) {
        takeTurn { answer(await self.perform(request)) }
    }

    /// Looks up a user's grants in some channels.
    ///
    /// In a cluster another gateway may have made him a member just before: so nobody is refused
    /// before this one knows what was acknowledged by then. That waits without a turn.
    func ask(
        _ questions: [AccessQuestion], for who: Principal,
        then answer: @escaping @Sendable ([AccessAnswer]) -> Void
    ) {
        look(questions, who) { [barrier] answers in
            guard let barrier, answers.contains(where: \.isRefusal) else { return answer(answers) }
            Task {
                do {
                    try await barrier.pass()
                    self.look(questions, who, then: answer)
                } catch {
                    answer(answers.map { $0.isRefusal ? $0.unknown(error) : $0 })
                }
            }
        }
    }

    private func look(
        _ questions: [AccessQuestion], _ who: Principal,
        then answer: @escaping @Sendable ([AccessAnswer]) -> Void
    ) {
        takeTurn {
            var answers: [AccessAnswer] = []
            for question in questions {
                answers.append(
                    AccessAnswer(
                        question: question, grant: await self.grant(who, in: question.channel)))
            }
            answer(answers)
        }
    }

    private func takeTurn(_ work: @escaping Work) {
        guard let work = slots.withLock({ $0.asked(work) }) else { return }
        Task {
            var next: Work? = work
            while let work = next {
                await work()
                next = slots.withLock { $0.ended() }
            }
        }
    }

    private func grant(
        _ who: Principal, in channel: ChannelName
    ) async -> Result<Grant, RepriseError> {
        guard let accounts else { return .success(.everything) }
        do {
            return .success(try await accounts.grant(who, in: channel))
        } catch {
            return .failure(AccessAnswer.unavailable(error))
        }
    }

    private func perform(_ request: Request) async -> Answer {
        let (channel, ticket) = (request.channel, request.ticket)
        do {
            switch request.read {
            case .state:
                let state = try await log.state(of: channel)
                return Answer(
                    channel: channel, ticket: ticket, content: .state(state),
                    positions: try await positions(for: request))
            case .page(let missing):
                let page = try await log.page(
                    of: channel, missing: missing, limit: pageMessages, byteLimit: pageBytes)
                return Answer(
                    channel: channel, ticket: ticket,
                    content: .page(through: page.through, epoch: page.state.epoch),
                    page: Self.encode(page, of: channel), eventCount: page.events.count)
            }
        } catch {
            return Answer(channel: channel, ticket: ticket, content: .failed, error: error)
        }
    }

    private func positions(for request: Request) async throws -> Positions? {
        guard let accounts, let user = request.user else { return nil }
        var positions = try await accounts.positions(
            of: request.channel, first: user, limit: WireLimits.positions)
        let stored = positions.first { $0.user == user }?.read ?? 0
        let start = Unread.start(read: stored, joined: request.unreadAfter, floor: 0)
        // A device that counts by itself starts from the same position; others are not told of it.
        if let own = positions.firstIndex(where: { $0.user == user }) {
            positions[own].read = start
        }
        let unread = try await log.unread(of: user, in: request.channel, after: start)
        let frame = ServerFrame.Positions(
            channel: request.channel, positions: positions, unread: unread)
        return Positions(
            user: user, stored: stored, frame: frame,
            bytes: WebSocketFraming.frame(.positions(frame)))
    }

    private static func encode(_ page: LogPage, of channel: ChannelName) -> ByteBuffer {
        let encoder = EventEncoder(channel: channel)
        let capacity = page.events.reduce(page.gone.count * 200) {
            $0 + encoder.capacity(for: $1)
        }
        var buffer = ByteBufferAllocator().buffer(capacity: capacity)
        for gone in page.gone { WebSocketFraming.write(.gone(channel: channel, gone), to: &buffer) }
        for event in page.events { encoder.write(event, to: &buffer) }
        return buffer
    }
}
