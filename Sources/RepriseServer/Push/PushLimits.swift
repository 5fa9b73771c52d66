/// The bounds of push; `docs/limits.md` lists each with what happens at it.
package enum PushLimits {
    /// How long a device has to receive a message by itself before it is pushed.
    package static let grace: Duration = .seconds(5)
    /// Messages of a channel that come within so long of each other are looked at together.
    package static let slot: Duration = .milliseconds(500)
    /// How many stored messages may be noted before channels are looked through instead.
    package static let notedSlots = 65_536
    /// The most messages of one walk over a channel's members.
    package static let messagesPerWalk = 16
    /// How many members are looked at in one step of a walk, for one message.
    package static let membersPerStep = 512
    /// How many channels are walked at a time.
    package static let walks = 2
    /// How many pushes of one service wait on the disk before walks pause: the log keeps the rest.
    package static let queued = 10_000
    /// How many pushes are read from the disk at a time.
    package static let page = 512
    /// So many answers are written down together, or those of so long; or at once, if nothing else
    /// is under way.
    package static let settledTogether = 256
    /// See ``settledTogether``: what was answered in it is sent again after a kill.
    package static let settledWithin: Duration = .milliseconds(50)
    /// How long a push may wait in memory before it is read again: so old may be what is known of
    /// it.
    package static let waitsInMemory: Duration = .seconds(2)
    /// How many channels are looked through at a time when the server starts.
    package static let channelsPerPage = 500
    /// How many attempts a push has that the provider neither takes nor refuses.
    package static let attempts = 10
    /// The waits between them.
    package static let retryBase: Duration = .seconds(1)
    /// See ``retryBase``.
    package static let retryLongest: Duration = .seconds(300)
    /// The longest `Retry-After` that is believed.
    package static let retryAfterLongest: Duration = .seconds(3_600)
    /// So many failures of a provider in a row open its circuit.
    package static let failuresToOpen = 5
    /// The waits before a provider that is down is tried again.
    package static let circuitBase: Duration = .seconds(1)
    /// See ``circuitBase``.
    package static let circuitLongest: Duration = .seconds(60)
    /// How many push services of the web are remembered as failing.
    package static let lanes = 10_000
    /// How long the log is not told again that a push service fails as it did.
    package static let troubleTold: Duration = .seconds(600)
    /// How long Apple asks to wait with a push that was answered with a server's failure.
    package static let apnsServerFailure: Duration = .seconds(15 * 60)
    /// How long a provider may take to answer.
    package static let answer: Duration = .seconds(10)
    /// How long connecting to a provider may take.
    package static let connect: Duration = .seconds(5)
    /// The most bytes of an answer that are read.
    package static let answerBytes = 4_096
    /// A message that is older is not pushed any more, unless it says another time to live.
    package static let life: Duration = .seconds(86_400)
    /// The longest time to live that a message may name.
    package static let lifeLongest: Duration = .seconds(28 * 86_400)
    /// How long a user who reads on is waited for before the other devices are told.
    package static let dismissAfter: Duration = .seconds(2)
    /// How many pushes a device gets at once, after a pause.
    package static let deviceBurst = 20.0
    /// How many pushes a device gets in a second, then.
    package static let devicePerSecond = 1.0
    /// How many messages are kept in memory while their pushes are made.
    package static let contents = 64
    /// How long they are kept: so long may a deletion be overlooked.
    package static let contentStays: Duration = .seconds(1)
    /// The most mutes of a user.
    package static let mutes = 10_000
    /// The most channels whose unread messages a badge counts.
    package static let badgeChannels = 10_000
    /// How many channels' counts are kept for badges, of all users together: with their names some
    /// 10 MB.
    package static let badgeKept = 100_000
    /// A user who is kept takes the room of so many of them, beside their channels.
    package static let badgeUserRoom = 8
    /// How many users are counted together.
    package static let badgeUsers = 512
    /// So many channels of theirs end it: those of one user more.
    package static let badgeStarts = 100_000
    /// How long a store that failed is left alone.
    package static let afterFailure: Duration = .seconds(1)
    /// The most bytes of a title.
    package static let titleBytes = 256
    /// How many pushes to APNs are under way at a time.
    package static let apnsConcurrency = 500
    /// How many pushes to Web Push services are under way at a time.
    package static let webPushConcurrency = 100
    /// The most bytes of a payload for APNs.
    package static let apnsPayloadBytes = 4_096
    /// The most bytes of a collapse id for APNs.
    package static let apnsCollapseBytes = 64
    /// The most bytes of the text that is sealed for Web Push: with header, padding and tag it is
    /// one record of 4,096.
    package static let webPushPayloadBytes = 3_993
    /// The age at which a provider token is renewed; Apple asks for 20 to 60 minutes.
    package static let apnsTokenAge: Duration = .seconds(50 * 60)
    /// A token that was refused is not renewed before this age.
    package static let apnsTokenAgeLeast: Duration = .seconds(20 * 60)
    /// How long a VAPID token is used.
    package static let vapidAge: Duration = .seconds(6 * 3_600)
    /// How long a VAPID token says that it is good; RFC 8292 allows 24 hours.
    package static let vapidLife: Duration = .seconds(12 * 3_600)
    /// For how many push services VAPID tokens are kept.
    package static let vapidTokens = 1_000
    /// How long an address of a push service is used before its name is looked up again.
    package static let endpointLookUpLife: Duration = .seconds(60)
    /// For how many push services connections are kept.
    package static let endpointNames = 1_000
    /// The most bytes of a subscription's endpoint.
    package static let endpointBytes = 2_048
}
