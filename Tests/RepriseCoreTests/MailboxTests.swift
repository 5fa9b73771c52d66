import RepriseCore
import Testing

@Suite("Mailboxes", .timeLimit(.minutes(1)))
struct MailboxTests {
    @Test("a mailbox keeps the order, and is idle once its reader asks for more")
    func order() async {
        let mailbox = Mailbox<Int>()
        #expect(!mailbox.put(0), "it is not open")
        mailbox.open()
        for number in 1...3 { mailbox.put(number) }
        for number in 1...3 {
            #expect(await mailbox.next() == number)
            #expect(!mailbox.isIdle)
        }
        let last = Task { await mailbox.next() }
        while !mailbox.isIdle { await Task.yield() }
        mailbox.put(4)
        #expect(await last.value == 4)
    }

    @Test("a cancelled reader leaves the waiting events to the close, or to the next reader")
    func cancelled() async {
        let mailbox = Mailbox<Int>()
        for run in 0..<3 {
            mailbox.open()
            let reader = Task { await mailbox.next() }
            reader.cancel()
            #expect(await reader.value == nil)
            mailbox.put(run)
            let cancelled = Task {
                while !Task.isCancelled { await Task.yield() }
                return await mailbox.next()
            }
            cancelled.cancel()
            #expect(await cancelled.value == nil)
            mailbox.put(-1)
            #expect(await mailbox.next() == run)
            #expect(mailbox.close() == [-1])
            #expect(!mailbox.put(9))
            #expect(mailbox.close().isEmpty)
        }
    }

    @Test("events that can be merged wait as one")
    func merges() async {
        let mailbox = Mailbox<[Int]> { former, next in
            guard former.last.map({ $0 < next[0] }) == true else { return false }
            former += next
            return true
        }
        mailbox.open()
        for number in [1, 2, 0, 5] { mailbox.put([number]) }
        #expect(await mailbox.next() == [1, 2])
        #expect(await mailbox.next() == [0, 5])
        #expect(mailbox.close().isEmpty)
    }
}
