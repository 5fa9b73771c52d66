import Foundation
import Histogram
import NIOCore
import NIOPosix
import Synchronization

/// The least that a device does: it commits what it gets, all that waits in one transaction, and no
/// more.
final class BareDevice: AppliedClock {
    private let group: MultiThreadedEventLoopGroup
    private let folder: URL
    private let latency: Mutex<Histogram<UInt64>>

    private init(
        group: MultiThreadedEventLoopGroup, folder: URL,
        latency: consuming sending Histogram<UInt64>
    ) {
        self.group = group
        self.folder = folder
        self.latency = Mutex(latency)
    }

    static func start(server: ServerProcess.Address, channels: [String]) async throws -> BareDevice
    {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let device = BareDevice(
            group: MultiThreadedEventLoopGroup(numberOfThreads: 1), folder: folder,
            latency: Histogram<UInt64>(highestTrackableValue: 60_000_000_000))
        let storage = try BareStorage(folder: folder.path)
        let loop = device.group.next()
        let connection = try await RawConnection.open(to: server, device: "bare", on: loop)
        let names = channels.map { #"{"channelId":"\#($0)"}"# }.joined(separator: ",")
        try await loop.submit {
            connection.value.onText = { text in
                storage.store([ByteBuffer(bytes: text)]) { device.applied($0) }
            }
            connection.value.send(#"{"type":"subscribe","channels":[\#(names)]}"#)
        }.get()
        return device
    }

    private func applied(_ frames: [ByteBuffer]) {
        let now = MonotonicTime.now
        latency.withLock { latency in
            for frame in frames {
                guard let sent = MonotonicTime.sent(in: frame.readableBytesView) else { continue }
                latency.record(UInt64(max(0, now - sent)))
            }
        }
    }

    func reset() { latency.withLock { $0.reset() } }

    var p99: Double { latency.withLock { Double($0.valueAtPercentile(99)) / 1e6 } }

    func stop() async {
        try? await group.shutdownGracefully()
        try? FileManager.default.removeItem(at: folder)
    }
}
