import RepriseCore
import RepriseWire

extension Channel {
    /// Says that somebody looks at the channel: it is subscribed to, and caught up before the
    /// others.
    ///
    /// If a catch-up of many channels is under way, this one is asked for again, first. The last of
    /// ``appeared()`` and ``disappeared()`` counts.
    ///
    /// - Throws: what the journal throws.
    public func appeared() async throws {
        channels.readers.bells.ears.tell(.appeared(name))
        await channels.driver.appeared(name)
        try await subscribe()
    }

    /// Says that nobody looks at the channel any more.
    ///
    /// It stays subscribed to; from the next request on it takes its turn.
    public func disappeared() async {
        channels.readers.bells.ears.tell(.disappeared(name))
        await channels.driver.disappeared(name)
    }
}
