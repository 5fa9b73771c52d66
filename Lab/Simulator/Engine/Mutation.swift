/// A driver that is wrong on purpose, at the seam between machine and driver.
///
/// Each must be detected: a proof that the proof can fail. None of it is in shipping code.
package enum Mutation: String, CaseIterable, Hashable, Sendable {
    // The device's channels.
    case keepMemoryAfterFailedCommit, widenPrev, silenceCompletes, subscribeFromHighest
    case coverageApart, storeDuplicates, ignoreEpoch, liveBeforeDurable, lossesForgotten
    case cursorBeforeEffect, handingUnwritten, effectApart, outboxNewID, outboxEndsWhenSent
    case outboxForgetsPredecessor, orderedGoesOn, orderedBeyondHoles
    case snapshotUnwritten, snapshotTakenEarly
    // The journal's entries.
    case acknowledgeBeforeCommit, ignoreIncarnation, skipSync, forgetInterrupted
    case endBeforeHandler, acceptedApart, expireInDoubt, ignoreClosedGate, sleepReleases
    case keepBooksAfterFailedCommit
    // The server.
    case fanOutBeforeCommit, acknowledgeBeforeCommitOnServer, keepHeadsAfterFailedCommit
    case forgetIDs, registerAfterRead, silentDoubt, trimWithoutFloor, restoreKeepsEpoch
    case serverSkipsSync, earlySyncComplete, deletionKeepsBody, shutdownUnanswered
    case olderConnectionsStay
    // A cluster.
    case clusterAnswersBeforeApplied, clusterNeverResends, clusterWelcomesEarly
    case clusterTiesGenerations, clusterForgetsFences, clusterDecidesRights, clusterFlagsDiffer
    case clusterRenumbers, clusterReadsEarly, clusterEchoesEarly, clusterStopsAtNoise
    case clusterForgetsPast, clusterStopsForOthers, clusterUnfencedHolder, clusterLeaseFromAnswer
    case clusterStartsBlindly
    case clusterPurgesEarly, clusterManifestFirst, clusterBaseUnchecked, clusterAwaitsPurged
    case clusterPushesAgain, clusterSkipsHoles, clusterSealsApart, clusterLeaseByCalendar
    // People.
    case removalUntold, joinedForgotten, deskKeepsAnswers, renewalIgnored
    // Typing.
    case typingForEver, typingOutlivesConnection, typingUnticked
    // Receipts.
    case echoBeforeDurable, positionsGoBack
    // Forms.
    case grantAfterRender, forgetGrant, openGateAtHandshake, acknowledgeOnSend
    case keepPageMessagesOfFormerSession, capsForgotten, keepWhatThePageHad, logOutKeepsEvents,
        postponedAtOnce, appUnheard
    case audienceForgotten, pastForgotten, quietForgotten
    // Reminders.
    case additionsFirst, deliveredStays, changesMeanwhileForgotten, pendingRemembered, pausedStays
    case endBeforePresented, presentedAgain, lookUpOnce, markApart, answerAgain
    case endForgotten, exceptionsForgotten, quietHoursForgotten
    // Chains.
    case chainStepBeforeOutcome, chainIntentsApart, chainKeyPerAttempt, chainStepAfterAny
    case chainFailedForgotten, chainCancelForgetsRunning, chainUndoInOrderOfStart
    case chainDefinitionUnchecked, chainRetryForgetsFailures, chainParkedSilently
    case chainNextForgotten, chainAbandonedCounts
    case chainDecisionApart, chainItemLost, chainDecidesBlindly, chainDeletesOpen
    case chainNumberAgain, chainResultUnshown, chainProgressUnbounded
    // Chains under a system that grants time.
    case chainTimeUnheeded, chainSlotUnasked, chainInterruptedEnds
    case chainFileAfterRow, chainFilesStay, chainSweepTakesNewest, chainDamageOverlooked
    // Chains that run again and again.
    case chainRunApart, chainReadingForgotten, chainCalendarUnheard, chainZoneUnheard
    case chainTimeUnchecked

    /// What the wrong driver does.
    package var text: String {
        switch self {
        case .keepMemoryAfterFailedCommit: "after a failed commit memory is believed"
        case .widenPrev: "an event behind a hole accounts for the hole as well"
        case .silenceCompletes: "30 s of silence end a catch-up"
        case .subscribeFromHighest: "the device asks from its highest sequence on"
        case .coverageApart: "coverage is committed before its messages"
        case .storeDuplicates: "an event that is covered is stored again"
        case .ignoreEpoch: "a new epoch is overlooked"
        case .liveBeforeDurable: "live is said before the last messages are durable"
        case .lossesForgotten: "what is lost is not written down"
        case .cursorBeforeEffect: "a reader moves on before its handler ran"
        case .handingUnwritten: "a reader dispatches what was not marked as in flight"
        case .effectApart: "an effect has a transaction of its own, apart from the cursor"
        case .outboxNewID: "an unanswered message is sent again with a new id"
        case .outboxEndsWhenSent: "a message is finished once it is sent"
        case .outboxForgetsPredecessor: "a message does not say which one it comes after"
        case .snapshotUnwritten: "a snapshot is asked for before its position is written down"
        case .snapshotTakenEarly: "the subscription goes on before the snapshot is stored"
        case .orderedGoesOn: "a reader in order goes on behind a message that has failed"
        case .orderedBeyondHoles: "a reader in order does not wait at a hole"
        case .acknowledgeBeforeCommit: "recording is confirmed before the commit"
        case .ignoreIncarnation: "a former owner's commits are taken"
        case .skipSync: "the device commits without a sync"
        case .forgetInterrupted: "what was in flight at a kill stays in flight"
        case .endBeforeHandler: "an entry is finished when it is dispatched"
        case .acceptedApart: "the counter has a transaction of its own"
        case .expireInDoubt: "entries expire although the calendar is doubted"
        case .ignoreClosedGate: "entries are dispatched although their gate is closed"
        case .sleepReleases: "three seconds open a gate"
        case .keepBooksAfterFailedCommit: "after a failed commit the counters are believed"
        case .fanOutBeforeCommit: "subscribers get events before the commit"
        case .acknowledgeBeforeCommitOnServer: "publishers are answered before the commit"
        case .keepHeadsAfterFailedCommit: "after a failed commit the server's heads are believed"
        case .forgetIDs: "a restart forgets which ids are known"
        case .registerAfterRead: "a subscriber is entered after its catch-up was read"
        case .silentDoubt: "after a failed commit nobody looks at the log"
        case .trimWithoutFloor: "retention takes messages and leaves the floor"
        case .restoreKeepsEpoch: "a restored backup keeps its epoch"
        case .serverSkipsSync: "the server commits without a sync"
        case .earlySyncComplete: "sync_complete follows the first page"
        case .clusterAnswersBeforeApplied: "a gateway answers before it has applied what it wrote"
        case .clusterNeverResends: "a gateway does not send again what was lost"
        case .clusterWelcomesEarly: "a gateway welcomes a device before its hello is applied"
        case .clusterTiesGenerations: "hellos of one entry have one place"
        case .clusterForgetsFences: "publishes do not say by which connection they came"
        case .clusterDecidesRights: "a gateway writes what a user may do by its own view"
        case .clusterFlagsDiffer: "a gateway decides by another flag than the others"
        case .clusterRenumbers: "entries count whatever their number in the session is"
        case .clusterReadsEarly: "a gateway tells positions before it is up to date"
        case .clusterEchoesEarly: "a gateway echoes a receipt before it is applied"
        case .clusterStopsAtNoise: "a gateway stops at what is no entry"
        case .clusterForgetsPast: "a gateway goes on when the journal has gone back"
        case .clusterStopsForOthers: "a gateway stops for another's past, and does not compare"
        case .clusterStartsBlindly: "after its start or a silence no gateway compares its view"
        case .clusterPurgesEarly: "the journal is purged before the base is complete"
        case .clusterManifestFirst: "a base's manifest is written before its pieces"
        case .clusterBaseUnchecked: "a base counts whatever others say that their views hold"
        case .clusterAwaitsPurged: "a gateway waits for entries that are purged, and loads no base"
        case .clusterPushesAgain: "who begins to push asks nobody what others have pushed"
        case .clusterSkipsHoles: "a gateway takes whatever comes for the next entry"
        case .clusterSealsApart: "a gateway seals its ids at other entries than the others"
        case .clusterLeaseByCalendar: "the holder of a lease acts until it expires by its calendar"
        case .clusterUnfencedHolder: "what the holder of a lease asks for does not carry its grant"
        case .clusterLeaseFromAnswer: "a lease counts from its answer, not from its request"
        case .removalUntold: "connections are not told that a membership has ended"
        case .joinedForgotten: "who joins is sent what was before"
        case .deskKeepsAnswers: "an answer from before a change of rights is believed"
        case .renewalIgnored: "the app is not asked for a fresh token when one ends"
        case .typingForEver: "a device does not look at the clock while somebody types"
        case .typingOutlivesConnection: "who types is shown when the connection is gone"
        case .typingUnticked: "the server does not look at the clock while somebody types"
        case .echoBeforeDurable: "a receipt is echoed before it is durable"
        case .positionsGoBack: "the receipt that came last counts, not the farthest"
        case .grantAfterRender: "a form is granted to the page before that is durable"
        case .forgetGrant: "nobody asks whether a form was granted before the process died"
        case .openGateAtHandshake: "the handshake opens the gate, before the page has a catalogue"
        case .acknowledgeOnSend: "an event is finished when it is sent to the page"
        case .keepPageMessagesOfFormerSession: "what a former page said counts for the next"
        case .capsForgotten: "nobody counts how often a form was shown"
        case .postponedAtOnce: "what a page gave back until its time comes to it at once"
        case .appUnheard: "a form is granted before the app has said that it may be shown"
        case .keepWhatThePageHad: "what a page had when it died is given to no other"
        case .logOutKeepsEvents: "what waits stays when the user logs out"
        case .additionsFirst: "requests are added before others are removed"
        case .deliveredStays: "notifications of what is gone are left standing"
        case .changesMeanwhileForgotten: "what changes during a reconciliation leads to no other"
        case .pendingRemembered: "what is pending is remembered, not asked"
        case .pausedStays: "what is paused is reminded of"
        case .endBeforePresented: "a tap is finished when the app gets it"
        case .presentedAgain: "nobody asks whether a tap was presented before the process died"
        case .lookUpOnce: "what changes during a look-up is not looked up again"
        case .markApart: "a snooze has a transaction of its own, apart from its action"
        case .answerAgain: "nobody asks the app's store whether it has an answer already"
        case .chainStepBeforeOutcome: "the next step begins before the outcome is durable"
        case .chainIntentsApart: "an outcome and the intents after it are two transactions"
        case .chainKeyPerAttempt: "each attempt at a task has a key of its own"
        case .chainStepAfterAny: "a step is done when one of its tasks is"
        case .chainFailedForgotten: "a chain that fails is removed"
        case .chainCancelForgetsRunning: "a chain that is cancelled forgets what runs"
        case .chainUndoInOrderOfStart: "effects are taken back in the order in which they came"
        case .chainDefinitionUnchecked: "nobody asks whether a definition has changed"
        case .chainRetryForgetsFailures: "a failure is not written down"
        case .chainParkedSilently: "what cannot go on is dropped, and the chain not suspended"
        case .chainNextForgotten: "the end of a chain does not begin the next of its name"
        case .chainAbandonedCounts: "what a worker says that was given up counts"
        case .chainDecisionApart: "a decision and the tasks that follow it are two transactions"
        case .chainItemLost: "of the tasks that follow a decision the last one is lost"
        case .chainDecidesBlindly: "a step is decided by another output than its task had"
        case .chainDeletesOpen: "a chain is deleted that has not ended"
        case .chainNumberAgain: "the number of a chain that has left is given again"
        case .chainResultUnshown: "a result counts as shown before it is"
        case .chainProgressUnbounded: "progress is shown as often as it comes"
        case .chainTimeUnheeded: "the end of the granted time closes no gate"
        case .chainSlotUnasked: "no slot is requested when the time is over"
        case .chainInterruptedEnds: "what is interrupted at the end of the time does not go on"
        case .chainFileAfterRow: "the file of an output is written after the row that names it"
        case .chainFilesStay: "nobody removes the files that no row names"
        case .chainSweepTakesNewest: "a file is removed that a row names"
        case .chainDamageOverlooked: "a chain that cannot be read is left as it is"
        case .chainRunApart: "a run and the wait for the next time are two transactions"
        case .chainReadingForgotten: "nobody knows what the clock showed when a time came"
        case .chainCalendarUnheard: "schedules are not looked at when the calendar is set"
        case .chainZoneUnheard: "schedules are not looked at when the app is opened elsewhere"
        case .chainTimeUnchecked: "a run begins with its command, whatever the clock shows"
        case .endForgotten: "what has an end, or is counted, goes on"
        case .exceptionsForgotten: "days that are left out are reminded of"
        case .quietHoursForgotten: "reminders ring in their quiet hours"
        case .audienceForgotten: "nobody asks whom a form is for"
        case .pastForgotten: "nobody counts the events before a form"
        case .quietForgotten: "forms are shown in their quiet times"
        case .deletionKeepsBody: "the log keeps the body of what is deleted"
        case .olderConnectionsStay: "a device's older connections go on when it says hello again"
        case .shutdownUnanswered: "a shutdown does not wait for what was accepted"
        }
    }
}

extension Mutation {
    /// The name of the workload that detects it.
    package var workload: String {
        switch self {
        case .keepMemoryAfterFailedCommit, .widenPrev, .silenceCompletes, .subscribeFromHighest,
            .coverageApart, .storeDuplicates, .ignoreEpoch, .liveBeforeDurable, .lossesForgotten,
            .cursorBeforeEffect, .handingUnwritten, .effectApart, .outboxNewID,
            .outboxEndsWhenSent, .outboxForgetsPredecessor, .orderedGoesOn, .orderedBeyondHoles,
            .snapshotUnwritten, .snapshotTakenEarly, .fanOutBeforeCommit,
            .acknowledgeBeforeCommitOnServer, .keepHeadsAfterFailedCommit, .forgetIDs,
            .registerAfterRead, .silentDoubt, .trimWithoutFloor, .restoreKeepsEpoch,
            .serverSkipsSync, .earlySyncComplete, .deletionKeepsBody, .shutdownUnanswered,
            .olderConnectionsStay, .removalUntold, .joinedForgotten, .deskKeepsAnswers,
            .renewalIgnored:
            "channels"
        case .clusterAnswersBeforeApplied, .clusterNeverResends, .clusterWelcomesEarly,
            .clusterTiesGenerations, .clusterForgetsFences, .clusterDecidesRights,
            .clusterFlagsDiffer, .clusterRenumbers, .clusterReadsEarly, .clusterEchoesEarly,
            .clusterStopsAtNoise, .clusterForgetsPast, .clusterStopsForOthers,
            .clusterUnfencedHolder, .clusterLeaseFromAnswer, .clusterStartsBlindly,
            .clusterPurgesEarly, .clusterManifestFirst, .clusterBaseUnchecked,
            .clusterAwaitsPurged, .clusterPushesAgain, .clusterSkipsHoles, .clusterSealsApart,
            .clusterLeaseByCalendar:
            "cluster"
        case .acknowledgeBeforeCommit, .ignoreIncarnation, .skipSync, .forgetInterrupted,
            .endBeforeHandler, .acceptedApart, .expireInDoubt, .ignoreClosedGate, .sleepReleases,
            .keepBooksAfterFailedCommit:
            "gates"
        case .typingForEver, .typingOutlivesConnection, .typingUnticked: "typing"
        case .echoBeforeDurable, .positionsGoBack: "receipts"
        case .grantAfterRender, .forgetGrant, .openGateAtHandshake, .acknowledgeOnSend,
            .keepPageMessagesOfFormerSession, .capsForgotten, .keepWhatThePageHad,
            .logOutKeepsEvents, .postponedAtOnce, .appUnheard:
            "forms"
        case .audienceForgotten, .pastForgotten, .quietForgotten: "forms-targeting"
        case .additionsFirst, .deliveredStays, .changesMeanwhileForgotten, .pendingRemembered,
            .pausedStays, .endBeforePresented, .presentedAgain, .lookUpOnce, .markApart,
            .answerAgain:
            "reminders"
        case .endForgotten, .exceptionsForgotten, .quietHoursForgotten: "reminders-rules"
        case .chainStepBeforeOutcome, .chainIntentsApart, .chainKeyPerAttempt, .chainStepAfterAny,
            .chainFailedForgotten, .chainCancelForgetsRunning, .chainUndoInOrderOfStart,
            .chainDefinitionUnchecked, .chainRetryForgetsFailures, .chainParkedSilently,
            .chainNextForgotten, .chainAbandonedCounts, .chainDecisionApart, .chainItemLost,
            .chainDecidesBlindly, .chainDeletesOpen, .chainNumberAgain, .chainResultUnshown,
            .chainProgressUnbounded:
            "chains"
        case .chainTimeUnheeded, .chainSlotUnasked, .chainInterruptedEnds, .chainFileAfterRow,
            .chainFilesStay, .chainSweepTakesNewest, .chainDamageOverlooked:
            "chains-system"
        case .chainRunApart, .chainReadingForgotten, .chainCalendarUnheard, .chainZoneUnheard,
            .chainTimeUnchecked:
            "chains-schedules"
        }
    }
}
