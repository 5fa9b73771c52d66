import RepriseCore
import RepriseWire

extension Channel {
    /// Marks the channel as visible: it is subscribed to, and caught up before the others.
    ///
    /// During a catch-up of many channels, this one is requested again, first. The last call of
    /// ``appeared()`` and ``disappeared()`` counts.
    ///
    /// - Throws: the journal's errors.
    public func appeared() async throws {
        channels.readers.changeNotifier.observerList.tell(.appeared(name))
        await channels.driver.appeared(name)
        try await subscribe()
    }

    /// Marks the channel as no longer visible.
    ///
    /// It stays subscribed to; from the next request on it has no priority.
    public func disappeared() async {
        channels.readers.changeNotifier.observerList.tell(.disappeared(name))
        await channels.driver.disappeared(name)
    }
}
