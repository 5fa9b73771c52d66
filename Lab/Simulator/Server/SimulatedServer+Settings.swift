package import RepriseServer

extension SimulatedServer {
    /// How a server is set up.
    package struct Settings {
        package var limits = ServerLimits()
        package var commits = Committer.Limits()
        /// The most bytes of live events that wait for the event loop.
        package var waitingBytes = 16 << 20
        /// The most bytes of events that are written as one.
        package var bytesPerRun = 131_072
        /// What housekeeping keeps, once a minute; nil: there is none.
        package var retention: RetentionPolicy?
        /// How many of the log's reads fail.
        package var failingReads = 0.0
        /// How many channels a connection remembers what its user may do in.
        package var remembered = 2_000
        /// How long a producer waits for an answer.
        package var timeout: Duration = .seconds(30)

        package init() {}

        /// Limits so small that a run of 50 messages meets them.
        package static func drawn(for simulation: Simulation) -> Settings {
            var random = simulation.random("settings of the server")
            var settings = Settings()
            settings.limits.pageMessages = 1 + random.index(24)
            settings.limits.pageBytes = 200 + random.index(8_000)
            settings.limits.unsentBytes = 600 + random.index(20_000)
            settings.limits.unsentBytesToResume = settings.limits.unsentBytes / 4
            settings.commits.batchMessages = 1 + random.index(40)
            settings.bytesPerRun = 300 + random.index(4_000)
            if random.chance(0.5) { settings.waitingBytes = 100 + random.index(600) }
            if random.chance(0.3) { settings.failingReads = 0.1 }
            settings.remembered = 1 + random.index(3)
            return settings
        }
    }
}
