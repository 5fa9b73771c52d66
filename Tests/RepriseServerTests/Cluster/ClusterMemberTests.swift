import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("A member of a cluster", .timeLimit(.minutes(1)))
struct ClusterMemberTests {
    @Test("Beyond so many hellos that wait, one is refused", .limit("cluster.hellos"))
    func hellos() async throws {
        #expect(ClusterLimits.waitingHellos == 16_384)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let journal = MemoryJournal(
            seed: 1, readers: 1, stamps: SystemTimekeeper(), faults: .init(lost: 100))
        defer { journal.close() }
        let member = try await ClusterMember.join(
            SharedJournal(journal: journal), at: folder.path, implicitChannels: true)
        let running = Task { try await member.replica.run() }
        try await withThrowingTaskGroup(of: RepriseError.Code?.self) { group in
            for _ in 0..<ClusterLimits.waitingHellos {
                group.addTask {
                    do {
                        _ = try await member.arrive(.init(user: nil, device: .random()))
                        return nil
                    } catch {
                        return (error as? RepriseError)?.code
                    }
                }
            }
            try await eventually("all wait") {
                member.waitingHellos == ClusterLimits.waitingHellos
            }
            await expectError(.full) {
                _ = try await member.arrive(.init(user: nil, device: .random()))
            }
            running.cancel()
            for try await code in group { #expect(code == .closed) }
        }
        #expect(member.waitingHellos == 0)
        _ = await running.result
        await member.close()
    }
}
