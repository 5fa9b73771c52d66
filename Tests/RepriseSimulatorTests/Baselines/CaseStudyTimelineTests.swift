import RepriseSimulator
import Testing

/// The machines play what their documents tell: a transcription that fails here is a straw man.
@Suite("Baselines: the case studies' timelines")
struct CaseStudyTimelineTests {
    // MARK: case-push-form

    /// "The Final Timeline" (412–432): the tap comes at 0.3 s, everything else as it is written
    /// there.
    @Test(
        "case-push-form: a cold tap waits in memory, and is replayed when its data or 3 s have come"
    )
    func coldTap() {
        var machine = BufferedForms(.repaired)
        #expect(machine.eventCreated(1).isEmpty)  // pendingRequests
        #expect(machine.initialized().isEmpty)  // pendingEvents: no view controller
        machine.webViewCreated()
        let nap = BufferedForms.Action.sleep(.milliseconds(100))
        #expect(machine.handshakeCompleted(at: .seconds(2.5)) == [nap])
        #expect(machine.sleepEnded(at: .seconds(5.5)) == [nap])  // "> formsDataTimeout", not "≥"
        #expect(machine.sleepEnded(at: .seconds(5.6)) == [.dispatch(event: 1)])
    }

    @Test("case-push-form: data that comes early ends the wait at the next look")
    func earlyData() {
        var machine = BufferedForms(.repaired)
        _ = machine.eventCreated(1) + machine.initialized()
        machine.webViewCreated()
        _ = machine.handshakeCompleted(at: .seconds(2.5))
        machine.formsDataLoaded()
        #expect(machine.sleepEnded(at: .seconds(3.1)) == [.dispatch(event: 1)])
    }

    @Test(
        "case-push-form, race 1: without a web view the first version forgets, the repaired one does not"
    )
    func raceOne() {
        var first = BufferedForms(.first)
        _ = first.initialized()
        #expect(first.eventCreated(1).isEmpty)
        first.webViewCreated()
        #expect(first.handshakeCompleted(at: .seconds(2.5)).isEmpty)
    }

    @Test(
        "case-push-form, race 2: between web view and replay only the version at its best holds back"
    )
    func raceTwo() {
        for (version, expected) in [
            (BufferedForms.Version.repaired, [BufferedForms.Action.dispatch(event: 1)]),
            (.atItsBest, []),
        ] {
            var machine = BufferedForms(version)
            _ = machine.initialized()
            machine.webViewCreated()
            #expect(machine.eventCreated(1) == expected)
        }
    }

    // MARK: case-catch-up

    /// "Timeline of Event Flow (Fixed)" (116–142).
    @Test(
        "case-catch-up: [156, 200, 180, 155, 190] are all taken in catch-up, then 201 and 202 live")
    func catchUp() {
        var machine = OriginalChannelClient(.repaired, highest: 154)
        #expect(machine.connected(at: .zero).contains(.subscribe(from: 154)))
        for seq: Int64 in [156, 200, 180, 155, 190] {
            #expect(machine.eventReceived(seq, at: .seconds(1)) == [.apply(seq: seq)])
        }
        #expect(machine.eventReceived(180, at: .seconds(1)).isEmpty)
        machine.textReceived(OriginalFrame.syncComplete)
        #expect(!machine.isCatchingUp)
        #expect(machine.eventReceived(201, at: .seconds(2)) == [.apply(seq: 201)])
        #expect(machine.eventReceived(202, at: .seconds(2)) == [.apply(seq: 202)])
    }

    @Test("case-catch-up: 30 s of silence, 60 s in all, or a failure end the repaired catch-up")
    func forcedEnds() {
        var silent = OriginalChannelClient(.repaired, highest: 0)
        _ = silent.connected(at: .zero)
        _ = silent.eventReceived(200, at: .seconds(1))
        #expect(
            silent.checked(at: .seconds(31), isQueueEmpty: true) == [.check(after: .seconds(2))])
        #expect(silent.checked(at: .seconds(33), isQueueEmpty: true).isEmpty)
        #expect(silent.eventReceived(180, at: .seconds(34)).isEmpty)  // taken for a duplicate

        var slow = OriginalChannelClient(.repaired, highest: 0)
        _ = slow.connected(at: .zero)
        _ = slow.eventReceived(200, at: .seconds(60))
        #expect(slow.checked(at: .seconds(62), isQueueEmpty: false).isEmpty)

        var failed = OriginalChannelClient(.repaired, highest: 0)
        _ = failed.connected(at: .zero)
        _ = failed.eventReceived(200, at: .seconds(1))
        #expect(failed.connectionFailed() == [.reconnect])
        // 94: 1...199 never
        #expect(failed.connected(at: .seconds(2)).contains(.subscribe(from: 200)))
    }

    @Test(
        "case-catch-up, first version: an empty queue ends the catch-up, a failure within it freezes"
    )
    func firstChannelClient() {
        var machine = OriginalChannelClient(.first, highest: 0)
        _ = machine.connected(at: .zero)
        _ = machine.eventReceived(200, at: .seconds(1))
        #expect(
            machine.checked(at: .seconds(5), isQueueEmpty: false) == [.check(after: .seconds(5))])
        #expect(machine.connectionFailed().isEmpty)
        _ = machine.checked(at: .seconds(10), isQueueEmpty: true)
        #expect(!machine.isCatchingUp)
    }

    @Test("case-catch-up: its substrings match inside a nested body, not inside a quoted text")
    func substrings() {
        func endsCatchUp(_ text: String) -> Bool {
            var machine = OriginalChannelClient(.repaired, highest: 0)
            _ = machine.connected(at: .zero)
            machine.textReceived(Array(text.utf8))
            return !machine.isCatchingUp
        }
        #expect(endsCatchUp(#"{"type":"event","seq":1,"body":{"catchUpComplete":true}}"#))
        #expect(!endsCatchUp(#"{"type":"event","seq":1,"body":"say \"catchUpComplete\":true"}"#))
        #expect(!endsCatchUp(#"{"type": "sync_complete", "catchUpComplete": true}"#))  // blanks
    }

    // MARK: case-reminder-routing

    @Test(
        "case-reminder-routing: a goal that is there within 100 ms is found, paused and deleted told apart"
    )
    func sleepingRouter() {
        for (found, screen) in [
            (SleepingRouter.Found.active, SleepingRouter.Screen.dataEntry),
            (.paused, .inactiveGoal),
        ] {
            var machine = SleepingRouter(.repaired)
            #expect(machine.tapped(1) == [.complete(tap: 1), .sleep(tap: 1, .milliseconds(100))])
            #expect(machine.sleepEnded(tap: 1) == [.lookUp(tap: 1)])
            #expect(machine.goalLookedUp(tap: 1, found: found) == [.present(tap: 1, screen)])
        }
    }

    @Test(
        "case-reminder-routing: a store that is 150 ms late is given up, whatever it would have answered"
    )
    func slowStore() {
        var machine = SleepingRouter(.repaired)
        _ = machine.tapped(1) + machine.sleepEnded(tap: 1)
        #expect(
            machine.goalLookedUp(tap: 1, found: .nothing)
                == [.save, .sleep(tap: 1, .milliseconds(50))])
        #expect(machine.sleepEnded(tap: 1) == [.lookUp(tap: 1)])
        #expect(
            machine.goalLookedUp(tap: 1, found: .nothing) == [.present(tap: 1, .missingGoal)])
    }

    // MARK: case-task-chain

    private typealias Chains = SingleValueChains

    private func task(_ step: Int, _ number: Int) -> SingleValueChains.Task {
        .init(chain: 1, step: step, number: number)
    }

    /// "Test Flow" (105–111).
    @Test("case-task-chain: step 1 completes, the app is quit and opened, steps 2 and 3 run")
    func chainResumes() throws {
        var before = Chains(.repaired)
        let begun = before.chainCreated(1, steps: [1, 1, 1], at: 0)
        #expect(begun.count == 1)
        #expect(before.newChainSaved(true) == [.run(task(0, 0))])
        let stepped = before.taskFinished(task(0, 0), succeeded: true, at: 1)
        guard case .save(let saved) = stepped.first else {
            Issue.record("the position was not saved")
            return
        }
        #expect(stepped.last == .run(task(1, 0)))

        var after = Chains(.repaired)
        #expect(after.launched(with: saved, at: 2) == [.run(task(1, 0))])
        #expect(after.taskFinished(task(1, 0), succeeded: true, at: 3).last == .run(task(2, 0)))
        #expect(
            after.taskFinished(task(2, 0), succeeded: true, at: 4)
                == [.save([]), .ended(chain: 1, failed: false)])
    }

    @Test("case-task-chain: a kill within a parallel step runs its finished tasks again")
    func parallelTasks() {
        var before = Chains(.repaired)
        _ = before.chainCreated(1, steps: [2], at: 0)
        _ = before.newChainSaved(true)
        #expect(before.taskFinished(task(0, 0), succeeded: true, at: 1).isEmpty)
        var after = Chains(.repaired)
        let saved = [Chains.ChainState(chainId: 1, steps: [2], currentStep: 0, lastUpdatedAt: 0)]
        #expect(after.launched(with: saved, at: 2) == [.run(task(0, 0)), .run(task(0, 1))])
    }

    @Test("case-task-chain: an unreadable value clears all chains; one idle for 7 days is deleted")
    func clearedChains() {
        var machine = Chains(.repaired)
        #expect(machine.launched(with: nil, at: 0) == [.save([])])
        let old = [Chains.ChainState(chainId: 1, steps: [1], currentStep: 0, lastUpdatedAt: 0)]
        #expect(machine.launched(with: old, at: Chains.retention) == [.run(task(0, 0))])
        #expect(machine.launched(with: old, at: Chains.retention + 1) == [.save([])])
    }

    @Test("case-task-chain: a chain whose task fails is removed at once")
    func failedChain() {
        var machine = Chains(.repaired)
        _ = machine.chainCreated(1, steps: [1], at: 0)
        _ = machine.newChainSaved(true)
        #expect(
            machine.taskFinished(task(0, 0), succeeded: false, at: 1)
                == [.save([]), .ended(chain: 1, failed: true)])
    }

    // MARK: case-badge-banner

    @Test(
        "case-badge-banner: a message over the socket is stored and shown, one caught up is stored only"
    )
    func notices() {
        var machine = SocketNotices(stored: [1], unread: 1)
        #expect(
            machine.messageReceived(2) == [.store(message: 2), .banner(message: 2), .badge(2)])
        #expect(machine.messageReceived(2).isEmpty)
        #expect(machine.caughtUp([2, 3]) == [.store(message: 3), .badge(3)])
    }
}
