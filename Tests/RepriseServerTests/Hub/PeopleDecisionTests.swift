import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Decisions about people")
struct PeopleDecisionTests {
    let room = channel("room")
    let hall = channel("hall")
    let ada = user("ada")
    let ben = user("ben")

    // MARK: Typing

    @Test("typing is sent when it begins, each time it is repeated, and when it stops")
    func typing() {
        var board = TypingBoard(limit: 5)
        let began = board.typed(true, by: ada, at: 1, in: room, now: .zero)
        #expect(began == .init(channel: room, user: ada, isTyping: true))
        let again = board.typed(true, by: ada, at: 1, in: room, now: .seconds(4))
        #expect(again == began)
        let stopped = board.typed(false, by: ada, at: 1, in: room, now: .seconds(5))
        #expect(stopped == .init(channel: room, user: ada, isTyping: false))
        let twice = board.typed(false, by: ada, at: 1, in: room, now: .seconds(5))
        #expect(twice == nil)
    }

    @Test("typing that is repeated within two seconds is ignored; a stop never is")
    func typingTooOften() {
        var board = TypingBoard(limit: 5)
        _ = board.typed(true, by: ada, at: 1, in: room, now: .zero)
        #expect(board.typed(true, by: ada, at: 1, in: room, now: .milliseconds(1_999)) == nil)
        #expect(board.typed(false, by: ada, at: 1, in: room, now: .milliseconds(1_999)) != nil)
        #expect(board.typed(true, by: ada, at: 1, in: room, now: .milliseconds(3_999)) != nil)
    }

    @Test("a user who has just stopped typing may begin again at once, five times in a row")
    func typingAfterAStop() {
        var board = TypingBoard(limit: 5)
        for _ in 0...5 {
            #expect(board.typed(true, by: ada, at: 1, in: room, now: .zero) != nil)
            #expect(board.typed(false, by: ada, at: 1, in: room, now: .zero) != nil)
        }
        #expect(board.typed(true, by: ada, at: 1, in: room, now: .milliseconds(1_999)) == nil)
        #expect(board.typed(true, by: ada, at: 1, in: room, now: .seconds(2)) != nil)
    }

    @Test(
        "typing ends ten seconds after its last report, for each user by itself",
        .limit("server.typing"))
    func typingExpires() {
        var board = TypingBoard(limit: 5)
        _ = board.typed(true, by: ada, at: 1, in: room, now: .zero)
        _ = board.typed(true, by: ben, at: 2, in: room, now: .seconds(1))
        _ = board.typed(true, by: ada, at: 1, in: room, now: .seconds(4))
        #expect(board.ticked(now: .milliseconds(10_999)).isEmpty)
        #expect(
            board.ticked(now: .seconds(11)) == [.init(channel: room, user: ben, isTyping: false)])
        #expect(board.ticked(now: .milliseconds(13_999)).isEmpty)
        #expect(
            board.ticked(now: .seconds(14)) == [.init(channel: room, user: ada, isTyping: false)])
        #expect(board.isEmpty)
    }

    @Test("a user who types on two devices types until both have stopped")
    func typingOnTwoDevices() {
        var board = TypingBoard(limit: 5)
        _ = board.typed(true, by: ada, at: 1, in: room, now: .zero)
        _ = board.typed(true, by: ada, at: 2, in: room, now: .seconds(1))
        #expect(board.typed(false, by: ada, at: 1, in: room, now: .seconds(2)) == nil)
        #expect(board.left(2, of: ada, in: room) != nil)
        #expect(board.left(1, of: ada, in: room) == nil)
        #expect(board.isEmpty)
    }

    @Test("leaving one channel ends typing there and nowhere else")
    func typingElsewhere() {
        var board = TypingBoard(limit: 5)
        _ = board.typed(true, by: ada, at: 1, in: room, now: .zero)
        _ = board.typed(true, by: ada, at: 1, in: hall, now: .zero)
        #expect(board.left(1, of: ada, in: room)?.channel == room)
        #expect(board.ticked(now: .seconds(10)).map(\.channel) == [hall])
    }

    @Test(
        "beyond the limit of typing users no further one is sent, and the known ones go on",
        .limit("server.typists"))
    func typingIsBounded() {
        var board = TypingBoard(limit: 2)
        #expect(board.typed(true, by: ada, at: 1, in: room, now: .zero) != nil)
        #expect(board.typed(true, by: ben, at: 2, in: room, now: .zero) != nil)
        #expect(board.typed(true, by: user("cat"), at: 3, in: room, now: .zero) == nil)
        #expect(board.typed(true, by: ada, at: 1, in: room, now: .seconds(3)) != nil)
        _ = board.typed(false, by: ben, at: 2, in: room, now: .seconds(3))
        #expect(board.typed(true, by: user("cat"), at: 3, in: room, now: .seconds(3)) != nil)
    }

    // MARK: Receipts

    @Test(
        "one position write of a channel is under way, and receipts meanwhile become one more",
        .limit("server.receipts"))
    func receipts() {
        var desk = ReceiptCoalescer()
        let first = desk.arrived(.init(channel: room, read: 3))
        #expect(first == .init(channel: room, read: 3))
        #expect(desk.arrived(.init(channel: room, read: 9)) == nil)
        #expect(desk.arrived(.init(channel: room, read: 5, delivered: 7)) == nil)
        #expect(desk.arrived(.init(channel: hall, delivered: 1)) != nil, "another channel")
        #expect(desk.moved(in: room) == .init(channel: room, read: 9, delivered: 7))
        #expect(desk.moved(in: room) == nil)
        #expect(desk.arrived(.init(channel: room, read: 10)) != nil)
        _ = desk.arrived(.init(channel: room, read: 11))
        desk.ended(in: room)
        #expect(desk.moved(in: room) == nil, "the user may not read it any more")
        _ = desk.arrived(.init(channel: room, read: 12))
        _ = desk.arrived(.init(channel: room, delivered: 11))
        let refused = desk.refused(.init(channel: room, read: 12))
        #expect(refused == .init(channel: room, read: 12, delivered: 11))
        #expect(desk.arrived(refused) == refused, "none is under way")
    }

    @Test(
        "a position is sent at once, and then the newest once a tick", .limit("server.receiptsSent")
    )
    func news() {
        func telling(_ read: Int64, _ except: UInt64?) -> PositionUpdates.Telling {
            .init(
                channel: room, position: .init(user: ada, read: read, delivered: 0),
                except: except, isPrivate: false)
        }
        var news = PositionUpdates()
        #expect(news.moved(telling(1, 7)) == telling(1, 7))
        #expect(news.moved(telling(2, 7)) == nil)
        #expect(news.moved(telling(4, 7)) == nil)
        #expect(news.moved(telling(3, 7)) == nil, "it was overtaken")
        #expect(news.ticked() == [telling(4, 7)])
        #expect(news.moved(telling(4, 8)) == nil, "it is known")
        #expect(news.moved(telling(5, 7)) == nil)
        #expect(news.moved(telling(6, 8)) == nil)
        #expect(news.ticked() == [telling(6, nil)], "neither device was told all of it")
        #expect(news.ticked() == [])
        #expect(news.moved(telling(7, 7)) == telling(7, 7), "at once again")
    }

    @Test(
        "beyond the limit of positions remembered in a tick, each move is sent at once",
        .limit("server.receiptsSent"))
    func manyNews() throws {
        func telling(_ user: UserID, _ read: Int64) -> PositionUpdates.Telling {
            .init(
                channel: room, position: .init(user: user, read: read, delivered: 0), except: nil,
                isPrivate: false)
        }
        let ben = try UserID("ben")
        var news = PositionUpdates(limit: 1)
        #expect(news.moved(telling(ada, 1)) == telling(ada, 1))
        for read in 1...3 as ClosedRange<Int64> {
            #expect(news.moved(telling(ben, read)) == telling(ben, read))
        }
        #expect(news.moved(telling(ada, 2)) == nil)
        #expect(news.ticked() == [telling(ada, 2)])
    }

    @Test(
        "the positions sent of each user only grow, in whatever order moves and states arrive",
        arguments: 0..<20)
    func toldPositions(round: Int) {
        var told = ToldPositions(limit: 64)
        var random = SeededGenerator(seed: UInt64(round))
        var last: [UserID: ServerFrame.Position] = [:]
        let users = (0..<8).map { user("u\($0)") }
        for step in 0..<400 {
            let user = users[Int.random(in: 0..<8, using: &random)]
            let heard = ServerFrame.Position(
                user: user, read: .random(in: 0...Int64(step), using: &random),
                delivered: .random(in: 0...Int64(step), using: &random))
            let tells = told.newest(heard, in: room)
            #expect(tells.read >= max(heard.read, last[user]?.read ?? 0))
            #expect(tells.delivered >= max(heard.delivered, last[user]?.delivered ?? 0))
            let known = [heard, last[user] ?? heard]
            #expect(known.contains { $0.read == tells.read })
            last[user] = tells
            if step % 50 == 0 { told.ticked(now: .seconds(step)) }
        }
    }

    @Test(
        "sent positions are remembered for a minute, up to a limit",
        .limit("server.receiptsRemembered"))
    func toldPositionsAreForgotten() {
        func position(_ read: Int64, _ name: String = "ada") -> ServerFrame.Position {
            ServerFrame.Position(user: user(name), read: read, delivered: 0)
        }
        var told = ToldPositions(limit: 4)
        #expect(told.newest(position(9), in: room).read == 9)
        #expect(told.newest(position(1), in: hall).read == 1, "another channel")
        told.ticked(now: .seconds(60))
        #expect(told.newest(position(3), in: room).read == 9)
        told.ticked(now: .seconds(119))
        told.ticked(now: .seconds(120))
        #expect(told.newest(position(4), in: room).read == 9, "it was told since")
        told.ticked(now: .seconds(180))
        told.ticked(now: .seconds(240))
        #expect(told.newest(position(4), in: room).read == 4)
        for number in 0..<4 { _ = told.newest(position(1, "u\(number)"), in: room) }
        #expect(told.newest(position(2), in: room).read == 4)
        for number in 0..<9 { _ = told.newest(position(1, "v\(number)"), in: room) }
        #expect(told.newest(position(2), in: room).read == 2)
        #expect(ToldPositions.limit == 131_072 && ToldPositions.life == .seconds(60))
    }

    // MARK: Who may do what

    @Test(
        "the rights in a channel on screen are looked up before the others', also if it waits already"
    )
    func firstIsAskedFirst() {
        var desk = AuthorizationCache<String, Int>(remembered: 1_000)
        for number in 0..<100 { _ = desk.arrived("x", in: channel("c\(number)")) }
        _ = desk.arrived("x", in: room, first: true)
        _ = desk.arrived("y", in: channel("c70"), first: true)
        _ = desk.arrived("z", in: channel("c70"), first: true)
        let questions = desk.nextQuestions(4)
        #expect(questions.map(\.channel.text) == ["room", "c70", "c0", "c1"])
        #expect(desk.answered(questions[1], 1) == ["x", "y", "z"])
        for question in questions { _ = desk.answered(question, 1) }
        desk.questionsEnded()
        var asked: Set<String> = []
        while case let next = desk.nextQuestions(32), !next.isEmpty {
            for question in next {
                #expect(asked.insert(question.channel.text).inserted)
                _ = desk.answered(question, 1)
            }
            desk.questionsEnded()
        }
        #expect(asked.count == 97 && desk.waitingCount == 0)
    }

    @Test(
        "requests of a channel wait in order for the user's rights; other channels do not wait for them"
    )
    func desk() throws {
        var desk = AuthorizationCache<String, Int>(remembered: 10)
        #expect(desk.arrived("a", in: room) == nil)
        #expect(desk.arrived("b", in: room) == nil)
        #expect(desk.arrived("c", in: hall) == nil)
        #expect(desk.waitingCount == 3)
        let questions = desk.nextQuestions(5)
        #expect(questions.map(\.channel) == [room, hall])
        #expect(desk.nextQuestions(5).isEmpty)
        #expect(desk.answered(questions[0], 1) == ["a", "b"])
        #expect(desk.answered(questions[1], nil) == ["c"])
        desk.questionsEnded()
        #expect(desk.waitingCount == 0)
        #expect(desk.arrived("d", in: room) == 1)
        #expect(desk.arrived("e", in: hall) == nil, "what allows nothing is not remembered")
    }

    @Test("a look-up of rights from before a change is dropped, and made again")
    func staleGrant() throws {
        var desk = AuthorizationCache<String, Int>(remembered: 10)
        _ = desk.arrived("a", in: room)
        let old = try #require(desk.nextQuestions(5).first)
        desk.changed(room)
        #expect(desk.answered(old, 1) == [])
        desk.questionsEnded()
        #expect(desk.isAsking(room))
        let new = try #require(desk.nextQuestions(5).first)
        #expect(desk.answered(new, 2) == ["a"])
        desk.questionsEnded()
        desk.changed(room)
        #expect(desk.arrived("b", in: room) == nil, "it is forgotten when it changes")
    }

    @Test(
        "remembered rights are bounded, and looked up again when they are needed",
        .limit("server.permissions"))
    func rememberedGrants() throws {
        var desk = AuthorizationCache<String, Int>(remembered: 4)
        for number in 0..<20 {
            let name = channel("c\(number)")
            _ = desk.arrived("x", in: name)
            for question in desk.nextQuestions(5) { _ = desk.answered(question, number) }
            desk.questionsEnded()
            #expect(desk.arrived("y", in: name) == number)
        }
        #expect(desk.arrived("z", in: channel("c0")) == nil)
    }

    @Test(
        "a change of a channel counts for what was asked before it, and so does what is forgotten",
        .limit("server.permissions"))
    func accessChanges() {
        var changes = AccessChanges(limit: 2)
        changes.changed(room)
        let asked = changes.count
        #expect(changes.includes(room, since: 0) && !changes.includes(hall, since: 0))
        #expect(!changes.includes(room, since: asked))
        for _ in 0..<3 { changes.changed(hall) }
        #expect(changes.includes(hall, since: asked) && !changes.includes(room, since: asked))
        changes.changed(channel("third"))
        let other = channel("other")
        #expect(changes.includes(room, since: asked) && changes.includes(other, since: asked))
        #expect(!changes.includes(room, since: changes.count), "it was asked again")
        #expect(AccessChanges.limit == 16_384)
    }

    // MARK: Turns and rates

    @Test("a channel on screen goes before the others of its connection until it is caught up")
    func firstGoesFirst() {
        var turns = ReadTurns<String>()
        for name in ["a", "b", "c"] { turns.asked(name) }
        turns.asked("screen", first: true)
        #expect(turns.next(isWritable: true) == "screen")
        turns.asked("screen", first: true)
        #expect(turns.next(isWritable: true) == "screen", "its next page too")
        turns.preferred { $0 == "c" }
        #expect(turns.next(isWritable: true) == "c")
        #expect(turns.next(isWritable: true) == "a")
        #expect(turns.next(isWritable: true) == "b")
        #expect(turns.next(isWritable: true) == nil)
    }

    @Test("a bounded number of connections read at a time, in the order in which they asked")
    func readSlots() {
        var slots = ReadSlots<Int>(slots: 2)
        let begun = (0..<5).compactMap { slots.asked($0) }
        #expect(begun == [0, 1])
        #expect(slots.waitingCount == 3)
        #expect(slots.ended() == 2)
        #expect(slots.ended() == 3)
        #expect(slots.ended() == 4)
        #expect(slots.ended() == nil)
        #expect(slots.ended() == nil)
        #expect(slots.asked(9) == 9)
    }

    @Test("a rate allows its burst at once, then its pace, and says how long to wait")
    func rate() {
        let rate = TokenBucket.Rate(perSecond: 10, burst: 3)
        var bucket = TokenBucket(rate, now: .seconds(5))
        for _ in 0..<3 { #expect(bucket.take(rate, now: .seconds(5)) == nil) }
        #expect(bucket.take(rate, now: .seconds(5)) == .milliseconds(100))
        #expect(bucket.take(rate, now: .milliseconds(5_050)) == .milliseconds(50))
        #expect(bucket.take(rate, now: .milliseconds(5_100)) == nil)
        for _ in 0..<3 { #expect(bucket.take(rate, now: .seconds(100)) == nil) }
        #expect(bucket.take(rate, now: .seconds(100)) != nil, "no more than the burst is saved")
        #expect(bucket.take(rate, now: .seconds(1)) != nil, "time does not go back")
    }

    @Test("each user has a rate; an inactive user is forgotten, an active one is not")
    func limiter() {
        var buckets = Buckets(.init(perSecond: 1, burst: 10))
        for _ in 0..<10 { #expect(buckets.take(of: ada, now: .zero) == nil) }
        #expect(buckets.take(of: ada, now: .zero) != nil)
        #expect(buckets.take(of: ben, now: .zero) == nil, "another user")
        for second in 1...35 {
            #expect(buckets.take(of: ada, now: .seconds(second)) == nil)
            #expect(buckets.take(of: ada, now: .seconds(second)) != nil, "\(second)")
        }
        #expect(buckets.count == 1, "ben is forgotten")
        for number in 0..<1_000 { _ = buckets.take(of: user("u\(number)"), now: .seconds(40)) }
        _ = buckets.take(of: ada, now: .seconds(80))
        #expect(buckets.count == 1)
    }

    @Test("admins and those without a name are not limited")
    func unlimited() {
        let limiter = RateLimiter(.init(perSecond: 1, burst: 1))
        for _ in 0..<5 {
            #expect(limiter.wait(for: .open, now: .zero) == nil)
            #expect(limiter.wait(for: Principal(user: ada, isAdmin: true), now: .zero) == nil)
        }
        #expect(limiter.wait(for: Principal(user: ada), now: .zero) == nil)
        #expect(limiter.wait(for: Principal(user: ada), now: .zero) != nil)
    }
}
