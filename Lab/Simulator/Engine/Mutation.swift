/// A driver that is wrong on purpose, at the seam between machine and driver.
///
/// Each must be detected: a proof that the proof can fail. None of it is in shipping code.
package enum Mutation: String, CaseIterable, Hashable, Sendable {
    // The device's channels.
    case keepMemoryAfterFailedCommit, widenPrev, silenceCompletes, subscribeFromHighest
    case coverageApart, storeDuplicates, ignoreEpoch, liveBeforeDurable, lossesForgotten
    case cursorBeforeEffect, dispatchUnmarked, effectApart, outboxNewID, outboxEndsWhenSent
    case outboxForgetsPredecessor, orderedGoesOn, orderedBeyondHoles
    case snapshotUnwritten, snapshotTakenEarly
    // The journal's entries.
    case acknowledgeBeforeCommit, ignoreIncarnation, skipSync, forgetInterrupted
    case endBeforeHandler, acceptedApart, expireInDoubt, ignoreClosedGate, sleepOpensGates
    case keepCountersAfterFailedCommit
    // The server.
    case fanOutBeforeCommit, acknowledgeBeforeCommitOnServer, keepHeadsAfterFailedCommit
    case forgetIDs, registerAfterRead, failedCommitUnchecked, trimWithoutFloor, restoreKeepsEpoch
    case serverSkipsSync, earlySyncComplete, deletionKeepsBody, shutdownUnanswered
    case olderConnectionsStay
    // A cluster.
    case clusterAnswersBeforeApplied, clusterNeverResends, clusterWelcomesEarly
    case clusterHellosShareGeneration, clusterForgetsFences, clusterDecidesRights
    case clusterFlagsDiffer
    case clusterRenumbers, clusterReadsEarly, clusterEchoesEarly, clusterStopsAtInvalidEntry
    case clusterForgetsPast, clusterStopsForOthers, clusterUnfencedHolder, clusterLeaseFromAnswer
    case clusterStartsBlindly
    case clusterPurgesEarly, clusterManifestFirst, clusterBaseUnchecked, clusterAwaitsPurged
    case clusterPushesAgain, clusterSkipsHoles, clusterSealsApart, clusterLeaseByCalendar
    // People.
    case removalUnannounced, historyBeforeJoinSent, authorizationStaysCached, renewalIgnored
    // Typing.
    case typingForEver, typingOutlivesConnection, typingUnticked
    // Receipts.
    case echoBeforeDurable, positionsGoBack
    // Forms.
    case grantAfterRender, forgetGrant, openGateAtHandshake, acknowledgeOnSend
    case keepPageMessagesOfFormerSession, capsForgotten, deadPageKeepsInFlight, logOutKeepsEvents,
        postponedAtOnce, appNotAsked
    case audienceForgotten, pastEventsNotCounted, quietTimesForgotten
    // Reminders.
    case additionsFirst, deliveredStays, changesMeanwhileForgotten, pendingRemembered, pausedStays
    case endBeforePresented, presentedAgain, lookUpNotRepeated, overrideApart, answerAgain
    case endForgotten, exceptionsForgotten, quietHoursForgotten
    // Chains.
    case chainStepBeforeOutcome, chainIntentsApart, chainKeyPerAttempt, chainStepAfterAny
    case chainFailedForgotten, chainCancelForgetsRunning, chainCompensatesInStartOrder
    case chainDefinitionUnchecked, chainRetryForgetsFailures, chainDroppedNotSuspended
    case chainNextForgotten, chainAbandonedCounts
    case chainDecisionApart, chainItemLost, chainDecidesBlindly, chainDeletesOpen
    case chainNumberAgain, chainResultNotShown, chainProgressUnbounded
    // Chains under a system that grants time.
    case chainEndOfTimeIgnored, chainSlotNotRequested, chainInterruptedEnds
    case chainFileAfterRow, chainFilesStay, chainSweepTakesNewest, chainDamageOverlooked
    // Chains that run again and again.
    case chainRunApart, chainClockReadingForgotten, chainCalendarChangeIgnored
    case chainZoneChangeIgnored, chainTimeUnchecked

    /// What the wrong driver does.
    package var text: String {
        switch self {
        case .keepMemoryAfterFailedCommit: "memory is kept after a failed commit"
        case .widenPrev: "an event behind a hole covers the hole as well"
        case .silenceCompletes: "30 s of silence end a catch-up"
        case .subscribeFromHighest: "the device subscribes from its highest sequence"
        case .coverageApart: "coverage is committed before its messages"
        case .storeDuplicates: "an event that is covered is stored again"
        case .ignoreEpoch: "a new epoch is ignored"
        case .liveBeforeDurable: "the state is live before the last messages are durable"
        case .lossesForgotten: "losses are not stored"
        case .cursorBeforeEffect: "a reader's cursor moves before its handler ran"
        case .dispatchUnmarked: "a reader dispatches a message that is not marked as in flight"
        case .effectApart: "the effect and the cursor are two transactions"
        case .outboxNewID: "an unanswered message is sent again with a new id"
        case .outboxEndsWhenSent: "a message is finished once it is sent"
        case .outboxForgetsPredecessor: "a message does not name the one before it"
        case .snapshotUnwritten: "a snapshot is requested before its position is stored"
        case .snapshotTakenEarly: "the subscription goes on before the snapshot is stored"
        case .orderedGoesOn: "an ordered reader goes on behind a message that has failed"
        case .orderedBeyondHoles: "an ordered reader does not wait at a hole"
        case .acknowledgeBeforeCommit: "recording is confirmed before the commit"
        case .ignoreIncarnation: "a former owner's commits are accepted"
        case .skipSync: "the device commits without a sync"
        case .forgetInterrupted: "an entry in flight at a kill stays in flight"
        case .endBeforeHandler: "an entry is finished when it is dispatched"
        case .acceptedApart: "the counter and its entry are two transactions"
        case .expireInDoubt: "entries expire although the clock is not trusted"
        case .ignoreClosedGate: "entries are dispatched although their gate is closed"
        case .sleepOpensGates: "three seconds open a gate"
        case .keepCountersAfterFailedCommit: "the counters are kept after a failed commit"
        case .fanOutBeforeCommit: "subscribers get events before the commit"
        case .acknowledgeBeforeCommitOnServer: "publishers are answered before the commit"
        case .keepHeadsAfterFailedCommit: "the server's heads are kept after a failed commit"
        case .forgetIDs: "a restart forgets the known ids"
        case .registerAfterRead: "a subscriber is registered after its catch-up was read"
        case .failedCommitUnchecked: "the log is not read again after a failed commit"
        case .trimWithoutFloor: "retention removes messages and leaves the floor"
        case .restoreKeepsEpoch: "a restored backup keeps its epoch"
        case .serverSkipsSync: "the server commits without a sync"
        case .earlySyncComplete: "sync_complete follows the first page"
        case .clusterAnswersBeforeApplied: "a gateway answers before it has applied its own entry"
        case .clusterNeverResends: "a gateway does not send a lost entry again"
        case .clusterWelcomesEarly: "a gateway welcomes a device before its hello is applied"
        case .clusterHellosShareGeneration: "the hellos of one entry share a generation"
        case .clusterForgetsFences: "publishes do not name their connection"
        case .clusterDecidesRights: "a gateway writes a user's rights from its own view"
        case .clusterFlagsDiffer: "a gateway decides by another flag than the others"
        case .clusterRenumbers: "entries count whatever their number in the session"
        case .clusterReadsEarly: "a gateway reports positions before it is up to date"
        case .clusterEchoesEarly: "a gateway echoes a receipt before it is applied"
        case .clusterStopsAtInvalidEntry: "a gateway stops at an invalid entry"
        case .clusterForgetsPast: "a gateway goes on when the journal has gone back"
        case .clusterStopsForOthers: "a gateway stops for another's history without comparing it"
        case .clusterStartsBlindly: "a gateway does not compare its view after a start or a silence"
        case .clusterPurgesEarly: "the journal is purged before the base is complete"
        case .clusterManifestFirst: "a base's manifest is written before its pieces"
        case .clusterBaseUnchecked: "a base counts without the other gateways' agreement"
        case .clusterAwaitsPurged: "a gateway waits for purged entries, and loads no base"
        case .clusterPushesAgain: "a new pusher does not ask what others have pushed"
        case .clusterSkipsHoles: "a gateway takes any entry for the next one"
        case .clusterSealsApart: "a gateway seals its ids at other entries than the others"
        case .clusterLeaseByCalendar: "the holder of a lease acts until it expires by its calendar"
        case .clusterUnfencedHolder: "the commands of a lease's holder do not carry its grant"
        case .clusterLeaseFromAnswer: "a lease counts from its answer, not from its request"
        case .removalUnannounced: "connections are not told that a membership has ended"
        case .historyBeforeJoinSent: "a new member is sent the messages before its join"
        case .authorizationStaysCached: "a cached permission outlives a change of rights"
        case .renewalIgnored: "the app is not asked for a fresh token when one ends"
        case .typingForEver: "the device does not look at the clock while a user types"
        case .typingOutlivesConnection: "typing is shown after the connection is lost"
        case .typingUnticked: "the server does not look at the clock while a user types"
        case .echoBeforeDurable: "a receipt is echoed before it is durable"
        case .positionsGoBack: "the last receipt counts, not the farthest"
        case .grantAfterRender: "a form is granted to the page before that is durable"
        case .forgetGrant: "a grant from before the process died is ignored"
        case .openGateAtHandshake: "the handshake opens the gate, before the page has a catalogue"
        case .acknowledgeOnSend: "an event is finished when it is sent to the page"
        case .keepPageMessagesOfFormerSession: "messages of a former page count for the next"
        case .capsForgotten: "the number of times a form was shown is not counted"
        case .postponedAtOnce: "a postponed event is dispatched at once"
        case .appNotAsked: "a form is granted before the app has allowed it"
        case .deadPageKeepsInFlight: "events in flight at a page that died are not requeued"
        case .logOutKeepsEvents: "waiting events stay when the user logs out"
        case .additionsFirst: "requests are added before others are removed"
        case .deliveredStays: "delivered notifications of removed goals stay"
        case .changesMeanwhileForgotten: "a change during a reconciliation starts no other"
        case .pendingRemembered: "pending requests are remembered, not read"
        case .pausedStays: "paused goals are reminded of"
        case .endBeforePresented: "a tap is finished when the app gets it"
        case .presentedAgain: "a tap presented before the process died is presented again"
        case .lookUpNotRepeated: "a change during a look-up does not repeat it"
        case .overrideApart: "a snooze and its action are two transactions"
        case .answerAgain: "the app's store is not asked whether it has the answer already"
        case .chainStepBeforeOutcome: "the next step begins before the outcome is durable"
        case .chainIntentsApart: "an outcome and the intents after it are two transactions"
        case .chainKeyPerAttempt: "each attempt at a task has a key of its own"
        case .chainStepAfterAny: "a step is done when one of its tasks is"
        case .chainFailedForgotten: "a failed chain is removed"
        case .chainCancelForgetsRunning: "a cancelled chain forgets its running tasks"
        case .chainCompensatesInStartOrder: "effects are compensated in the order of their start"
        case .chainDefinitionUnchecked: "a changed definition is not noticed"
        case .chainRetryForgetsFailures: "a failure is not stored"
        case .chainDroppedNotSuspended: "a chain that cannot go on is dropped, not suspended"
        case .chainNextForgotten: "the end of a chain does not begin the next of its name"
        case .chainAbandonedCounts: "the result of a worker that was given up counts"
        case .chainDecisionApart: "a decision and the tasks that follow it are two transactions"
        case .chainItemLost: "the last task that follows a decision is lost"
        case .chainDecidesBlindly: "a step is decided by another output than its task's"
        case .chainDeletesOpen: "a chain is deleted before it has ended"
        case .chainNumberAgain: "the number of a deleted chain is given again"
        case .chainResultNotShown: "a result counts as shown before it is"
        case .chainProgressUnbounded: "each progress value is shown, without a limit"
        case .chainEndOfTimeIgnored: "the end of the granted time closes no gate"
        case .chainSlotNotRequested: "no slot is requested when the time is over"
        case .chainInterruptedEnds: "a task interrupted at the end of the time does not go on"
        case .chainFileAfterRow: "the file of an output is written after the row that names it"
        case .chainFilesStay: "files that no row names are not removed"
        case .chainSweepTakesNewest: "a file is removed that a row names"
        case .chainDamageOverlooked: "an unreadable chain is left as it is"
        case .chainRunApart: "a run and the wait for the next time are two transactions"
        case .chainClockReadingForgotten: "the clock reading at a scheduled time is not stored"
        case .chainCalendarChangeIgnored: "schedules are not looked at when the calendar is set"
        case .chainZoneChangeIgnored: "schedules are not looked at in the foreground"
        case .chainTimeUnchecked: "a run begins with its command, whatever the clock shows"
        case .endForgotten: "a reminder goes on after its end or its last occurrence"
        case .exceptionsForgotten: "excluded days are reminded of"
        case .quietHoursForgotten: "reminders ring in their quiet hours"
        case .audienceForgotten: "a form's audience is not checked"
        case .pastEventsNotCounted: "events before a form are not counted"
        case .quietTimesForgotten: "forms are shown in their quiet times"
        case .deletionKeepsBody: "the log keeps the body of a deleted message"
        case .olderConnectionsStay: "a device's older connections go on when it says hello again"
        case .shutdownUnanswered: "a shutdown does not wait for accepted messages"
        }
    }
}

extension Mutation {
    /// The name of the workload that detects it.
    package var workload: String {
        switch self {
        case .keepMemoryAfterFailedCommit, .widenPrev, .silenceCompletes, .subscribeFromHighest,
            .coverageApart, .storeDuplicates, .ignoreEpoch, .liveBeforeDurable, .lossesForgotten,
            .cursorBeforeEffect, .dispatchUnmarked, .effectApart, .outboxNewID,
            .outboxEndsWhenSent, .outboxForgetsPredecessor, .orderedGoesOn, .orderedBeyondHoles,
            .snapshotUnwritten, .snapshotTakenEarly, .fanOutBeforeCommit,
            .acknowledgeBeforeCommitOnServer, .keepHeadsAfterFailedCommit, .forgetIDs,
            .registerAfterRead, .failedCommitUnchecked, .trimWithoutFloor, .restoreKeepsEpoch,
            .serverSkipsSync, .earlySyncComplete, .deletionKeepsBody, .shutdownUnanswered,
            .olderConnectionsStay, .removalUnannounced, .historyBeforeJoinSent,
            .authorizationStaysCached, .renewalIgnored:
            "channels"
        case .clusterAnswersBeforeApplied, .clusterNeverResends, .clusterWelcomesEarly,
            .clusterHellosShareGeneration, .clusterForgetsFences, .clusterDecidesRights,
            .clusterFlagsDiffer, .clusterRenumbers, .clusterReadsEarly, .clusterEchoesEarly,
            .clusterStopsAtInvalidEntry, .clusterForgetsPast, .clusterStopsForOthers,
            .clusterUnfencedHolder, .clusterLeaseFromAnswer, .clusterStartsBlindly,
            .clusterPurgesEarly, .clusterManifestFirst, .clusterBaseUnchecked,
            .clusterAwaitsPurged, .clusterPushesAgain, .clusterSkipsHoles, .clusterSealsApart,
            .clusterLeaseByCalendar:
            "cluster"
        case .acknowledgeBeforeCommit, .ignoreIncarnation, .skipSync, .forgetInterrupted,
            .endBeforeHandler, .acceptedApart, .expireInDoubt, .ignoreClosedGate, .sleepOpensGates,
            .keepCountersAfterFailedCommit:
            "gates"
        case .typingForEver, .typingOutlivesConnection, .typingUnticked: "typing"
        case .echoBeforeDurable, .positionsGoBack: "receipts"
        case .grantAfterRender, .forgetGrant, .openGateAtHandshake, .acknowledgeOnSend,
            .keepPageMessagesOfFormerSession, .capsForgotten, .deadPageKeepsInFlight,
            .logOutKeepsEvents, .postponedAtOnce, .appNotAsked:
            "forms"
        case .audienceForgotten, .pastEventsNotCounted, .quietTimesForgotten: "forms-targeting"
        case .additionsFirst, .deliveredStays, .changesMeanwhileForgotten, .pendingRemembered,
            .pausedStays, .endBeforePresented, .presentedAgain, .lookUpNotRepeated, .overrideApart,
            .answerAgain:
            "reminders"
        case .endForgotten, .exceptionsForgotten, .quietHoursForgotten: "reminders-rules"
        case .chainStepBeforeOutcome, .chainIntentsApart, .chainKeyPerAttempt, .chainStepAfterAny,
            .chainFailedForgotten, .chainCancelForgetsRunning, .chainCompensatesInStartOrder,
            .chainDefinitionUnchecked, .chainRetryForgetsFailures, .chainDroppedNotSuspended,
            .chainNextForgotten, .chainAbandonedCounts, .chainDecisionApart, .chainItemLost,
            .chainDecidesBlindly, .chainDeletesOpen, .chainNumberAgain, .chainResultNotShown,
            .chainProgressUnbounded:
            "chains"
        case .chainEndOfTimeIgnored, .chainSlotNotRequested, .chainInterruptedEnds,
            .chainFileAfterRow, .chainFilesStay, .chainSweepTakesNewest, .chainDamageOverlooked:
            "chains-system"
        case .chainRunApart, .chainClockReadingForgotten, .chainCalendarChangeIgnored,
            .chainZoneChangeIgnored, .chainTimeUnchecked:
            "chains-schedules"
        }
    }
}
