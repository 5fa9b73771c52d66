import RepriseWire

/// The limits of push; `docs/limits/push.md` lists each with its effect.
package enum PushLimits {
    /// How long a connected device has to receive a message by itself before it is pushed.
    package static let grace: Duration = .seconds(5)
    /// The window within which messages of a channel are scanned for together; so long a device
    /// that is not connected waits for its push.
    package static let slot: Duration = .milliseconds(500)
    /// The most stored messages that are noted; beyond it all channels are scanned.
    package static let notedSlots = 65_536
    /// The most messages of one fan-out scan over a channel's members.
    package static let messagesPerScan = 16
    /// The most members in one step of a scan, for one message.
    package static let membersPerStep = 512
    /// The most channels scanned at a time.
    package static let scans = 2
    /// The most pushes of one service on the disk before scans pause, without those that
    /// ``delayedAlerts`` bounds; the log keeps the rest.
    package static let queued = 10_000
    /// The most alerts of one user that are delayed, for each service, because a push service fails
    /// or is slow, or for a device's rate; the oldest are dropped.
    package static let delayedAlerts = 100
    /// The most pushes read from the disk at a time.
    package static let page = 512
    /// The number of answers at which they are recorded; at once, if nothing else is in flight.
    package static let settledTogether = 256
    /// The longest wait before answers are recorded; pushes answered within it are sent again after
    /// a kill.
    package static let settledWithin: Duration = .milliseconds(50)
    /// How long a push may wait in memory before it is read again, because its data may be stale.
    package static let waitsInMemory: Duration = .seconds(2)
    /// The most channels per page of the scan at the server's start.
    package static let channelsPerPage = 500
    /// The attempts of a push that the provider neither accepts nor refuses.
    package static let attempts = 10
    /// The shortest wait between attempts.
    package static let retryBase: Duration = .seconds(1)
    /// The longest wait between attempts.
    package static let retryLongest: Duration = .seconds(300)
    /// The longest `Retry-After` that is respected.
    package static let retryAfterLongest: Duration = .seconds(3_600)
    /// The consecutive failures of a provider that open its circuit.
    package static let failuresToOpen = 5
    /// The shortest wait before a failed provider is tried again.
    package static let circuitBase: Duration = .seconds(1)
    /// The longest wait before a failed provider is tried again.
    package static let circuitLongest: Duration = .seconds(60)
    /// The most Web Push services whose failures are remembered, and that are known to be fast.
    package static let partitions = 10_000
    /// The average time of an answer from which on a Web Push service is slow.
    package static let slowAnswer: Duration = .seconds(1)
    /// The interval at which a push service's unchanged failure is logged again.
    package static let troubleTold: Duration = .seconds(600)
    /// The wait that Apple asks for after a server failure.
    package static let apnsServerFailure: Duration = .seconds(15 * 60)
    /// The timeout of a provider's answer.
    package static let answer: Duration = .seconds(10)
    /// The timeout of connecting to a provider.
    package static let connect: Duration = .seconds(5)
    /// The most bytes of an answer that are read.
    package static let answerBytes = 4_096
    /// The default time to live: an older message is not pushed any more.
    package static let life = PushPayloadLimits.life
    /// The longest time to live that a message may name.
    package static let lifeLongest = PushPayloadLimits.lifeLongest
    /// How long a user who keeps reading is waited for before the other devices are told.
    package static let dismissAfter: Duration = .seconds(2)
    /// How long a read is remembered in a cluster, by the journal's time: the gateway that pushes
    /// next queues its dismissals again.
    package static let handover: Duration = .seconds(30)
    /// The most of these.
    package static let handoverReads = 10_000
    /// The burst of pushes to a device, after a pause.
    package static let deviceBurst = 20.0
    /// The sustained pushes per second to a device.
    package static let devicePerSecond = 1.0
    /// The most messages cached while their pushes are made.
    package static let contents = 64
    /// How long a message is cached, and a deletion may be missed.
    package static let contentStays: Duration = .seconds(1)
    /// The most mutes of a user.
    package static let mutes = 10_000
    /// The most channels whose unread messages a badge counts.
    package static let badgeChannels = 10_000
    /// The most channels whose counts are cached for badges, of all users together: some 10 MB with
    /// their names.
    package static let badgeKept = 100_000
    /// The capacity that a cached user takes beside the channels, in channels.
    package static let badgeUserRoom = 8
    /// The most users counted together.
    package static let badgeUsers = 512
    /// The channels of such users beyond which no further user is added.
    package static let badgeStarts = 100_000
    /// The wait after a failure of the store.
    package static let afterFailure: Duration = .seconds(1)
    /// How long a shutdown waits for pushes in flight.
    package static let shutdown: Duration = .milliseconds(1_500)
    /// The most bytes of a title.
    package static let titleBytes = PushPayloadLimits.titleBytes
    /// The most pushes to APNs in flight.
    package static let apnsConcurrency = 500
    /// The most pushes to Web Push services in flight; half of them to slow and unknown ones.
    package static let webPushConcurrency = 100
    /// The most bytes of a payload for APNs.
    package static let apnsPayloadBytes = PushPayloadLimits.apnsBytes
    /// The most bytes of a collapse id for APNs.
    package static let apnsCollapseBytes = 64
    /// The most bytes of the plaintext of a Web Push: with header, padding and tag it is one record
    /// of 4,096.
    package static let webPushPayloadBytes = 3_993
    /// The age at which a provider token is renewed; Apple asks for 20 to 60 minutes.
    package static let apnsTokenAge: Duration = .seconds(50 * 60)
    /// The least age at which a refused token is renewed.
    package static let apnsTokenAgeLeast: Duration = .seconds(20 * 60)
    /// The age at which a VAPID token is renewed.
    package static let vapidAge: Duration = .seconds(6 * 3_600)
    /// The validity of a VAPID token; RFC 8292 allows 24 hours.
    package static let vapidLife: Duration = .seconds(12 * 3_600)
    /// The most push services for which VAPID tokens are cached.
    package static let vapidTokens = 1_000
    /// How long a push service's address is used before its name is resolved again.
    package static let endpointLookUpLife: Duration = .seconds(60)
    /// The most push services for which connections are kept.
    package static let endpointNames = 1_000
    /// The most bytes of a subscription's endpoint.
    package static let endpointBytes = 2_048
}
