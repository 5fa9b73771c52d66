import NIOCore
import RepriseCore
import RepriseWire
import Synchronization

/// Reads the log and the accounts for connections, and encodes what it finds, away from the event
/// loops.
///
/// So many read at a time; the others wait in line, and a connection stands in it once: see
/// ``ReadSlots``.
final class LogReader: Sendable {
    /// For which subscription something is read.
    struct Request: Sendable {
        let read: SubscriptionMachine.Read
        let channel: ChannelName
        let ticket: UInt32
        /// Whose positions are read with the state; nil where nobody is asked who he is.
        var user: UserID?
        /// What the user has not read is counted from here at the earliest.
        var unreadAfter: Int64 = 0
    }

    /// What was read.
    struct Answer: Sendable {
        let channel: ChannelName
        let ticket: UInt32
        let content: SubscriptionMachine.Answer
        /// A page as frames: bytes that are sent as they are.
        var page = ByteBuffer()
        var eventCount = 0
        /// With a state.
        var positions: Positions?
        var error: (any Error)?
    }

    /// Where users stood when they were read.
    struct Positions: Sendable {
        /// Who asked.
        let user: UserID
        /// How far that user has read by his receipts alone; the frame counts his joining, too.
        let stored: Int64
        let frame: ServerFrame.Positions
        /// The frame as it is sent, if nothing has moved since.
        let bytes: ByteBuffer
    }

    private typealias Work = @Sendable () async -> Void

    private let log: any MessageLog
    private let accounts: (any ChannelAccounts)?
    private let pageMessages: Int
    private let pageBytes: Int
    private let slots: Mutex<ReadSlots<Work>>

    init(log: any MessageLog, accounts: (any ChannelAccounts)?, limits: ServerLimits) {
        self.log = log
        self.accounts = accounts
        pageMessages = limits.pageMessages
        pageBytes = limits.pageBytes
        slots = Mutex(ReadSlots(slots: limits.logReaders))
    }

    /// How many wait in line.
    var waitingCount: Int { slots.withLock { $0.waitingCount } }

    /// Reads once.
    func start(_ request: Request, then answer: @escaping @Sendable (Answer) -> Void) {
        takeTurn { answer(await self.perform(request)) }
    }

    /// Asks what somebody may do in some channels.
    func ask(
        _ questions: [AccessQuestion], for who: Principal,
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
            return .failure(
                RepriseError(.unavailable, "The server cannot look at this now.", cause: error))
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
        // A device that counts by itself begins where we do; nobody else is told that this was
        // read.
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
