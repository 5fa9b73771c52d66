import RepriseCore
import ReprisePhone
import Testing

@Suite("The phone's windows", .timeLimit(.minutes(1)))
struct PhoneWindowsTests {
    @Test(
        "A window is key once its scene is active, or later; never in the background",
        arguments: PhoneRules.KeyWindow.allCases)
    func key(rule: PhoneRules.KeyWindow) async throws {
        let windows = PhoneWindows(rule)
        windows.becameKey()
        #expect(!windows.isKey, "no scene is active")
        let waiting = Task { try await windows.key() }
        windows.activated()
        #expect(windows.isKey == (rule == .atActivation))
        windows.becameKey()
        #expect(windows.isKey)
        try await waiting.value
        windows.enteredBackground()
        #expect(!windows.isKey)
        let cancelled = Task { try await windows.key() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }
}
