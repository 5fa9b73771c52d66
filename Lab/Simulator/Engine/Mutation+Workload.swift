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
        case .acknowledgeBeforeCommit, .ignoreIncarnation, .skipSync, .forgetInterrupted,
            .endBeforeHandler, .acceptedApart, .expireInDoubt, .ignoreClosedGate, .sleepReleases,
            .keepBooksAfterFailedCommit:
            "gates"
        case .typingForEver, .typingOutlivesConnection, .typingUnticked: "typing"
        case .echoBeforeDurable, .positionsGoBack: "receipts"
        case .grantAfterRender, .forgetGrant, .openGateAtHandshake, .acknowledgeOnSend,
            .keepPageMessagesOfFormerSession, .capsForgotten, .keepWhatThePageHad,
            .logOutKeepsEvents, .postponedAtOnce:
            "forms"
        case .additionsFirst, .deliveredStays, .changesMeanwhileForgotten, .pendingRemembered,
            .pausedStays, .endBeforePresented, .presentedAgain, .lookUpOnce, .markApart,
            .answerAgain:
            "reminders"
        case .chainStepBeforeOutcome, .chainIntentsApart, .chainKeyPerAttempt, .chainStepAfterAny,
            .chainFailedForgotten, .chainCancelForgetsRunning, .chainUndoInOrderOfStart,
            .chainDefinitionUnchecked, .chainRetryForgetsFailures, .chainParkedSilently,
            .chainNextForgotten, .chainAbandonedCounts:
            "chains"
        }
    }
}
