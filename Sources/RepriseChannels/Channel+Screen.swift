import RepriseCore
import RepriseWire

extension Channel {
    /// Reports whether the channel is on screen.
    ///
    /// A visible channel is subscribed to, and caught up before the others: during a catch-up of
    /// many channels it is requested again, first. A channel that is no longer visible stays
    /// subscribed to; from the next request on it has no priority. The last call counts.
    ///
    /// - Throws: the journal's errors, for `true` alone.
    public func setVisible(_ isVisible: Bool) async throws {
        let observers = channels.readers.changeNotifier.observerList
        guard isVisible else {
            observers.tell(.disappeared(name))
            return await channels.driver.disappeared(name)
        }
        observers.tell(.appeared(name))
        await channels.driver.appeared(name)
        try await subscribe()
    }
}
