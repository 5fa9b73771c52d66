/// The bounds of the outbox; `docs/limits/device.md` lists each with its consequence.
public enum OutboxLimits {
    /// The most messages of one channel that wait for the server's answer.
    public static let inFlightOfChannel = 64
    /// The most messages that wait for the server's answer.
    public static let inFlight = 256
    /// The most dead letters in one list.
    public static let listed = 1_000
}
