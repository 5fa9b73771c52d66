/// Limits of the standard workers; `docs/limits/chains.md` lists each with its effect.
public enum WorkerLimits {
    /// The most bytes of a path in the sandbox.
    public static let path = 1_024
    /// The most parts of a path in the sandbox.
    public static let pathParts = 64
    /// The most bytes of a part of a path.
    public static let pathPart = 255
    /// The timeouts for a server's silence that are accepted, in seconds; others are cut.
    public static let timeouts = 0.1...3_600
    /// The timeout where none is given, in seconds.
    public static let defaultTimeout = 30.0
    /// The most bytes of a URL.
    public static let url = 8_192
    /// How often a server may send elsewhere.
    public static let redirects = 5
    /// The most addresses of a name that are looked at.
    public static let addresses = 64
    /// How long looking up a name may take.
    public static let lookUp = Duration.seconds(10)
    /// The most bytes of an answer that `HTTPRequestWorker` and `UploadWorker` take, unless less is
    /// asked for.
    public static let answer = 1_048_576
    /// The most bytes of a body that `HTTPRequestWorker` sends.
    public static let requestBody = 1_048_576
    /// The most bytes of a download, unless another bound is asked for: 16 GiB.
    public static let download: Int64 = 17_179_869_184
    /// A download and a copy keep their position after as many bytes: 4 MiB.
    public static let checkpointBytes: Int64 = 4_194_304
    /// The bytes that a download and a copy leave free on the disk: 32 MiB.
    public static let freeBytesLeft: Int64 = 33_554_432
    /// The longest wait accepted from a server.
    public static let retryAfter = Duration.seconds(86_400)
    /// Interval between reads of a transfer's state, beside the system's own events.
    public static let transferLook = Duration.seconds(15)
    /// A half-written file of this age is abandoned: 7 days and some hours.
    public static let leftover = Duration.seconds(8 * 86_400)
    /// The most files and folders that looking for half-written files looks at.
    public static let sweep = 100_000
    /// The most bytes that are read or written in one piece.
    static let piece = 1_048_576
}
