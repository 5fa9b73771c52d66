import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

/// The courier's proof of delivery, whose photo and uploads the phone transfers for the app.
@Suite("The courier's transfers on the phone", .serialized, .timeLimit(.minutes(1)))
struct CourierTransfersTests {
    @Test(
        "The photo comes while the app is dead; launched for it the app goes on, wherever its events end",
        arguments: PhoneRules.TransferEventsEnd.allCases)
    func transfer(rule: PhoneRules.TransferEventsEnd) async throws {
        var rules = PhoneRules()
        rules.transferEventsEnd = rule
        try await CourierStage.play(rules: rules) { stage in
            stage.officeStops()
            try await stage.does("prove 7")
            try await stage.phone.expects(.phone(.transferStarted))
            try await stage.dies()
            stage.officeGoesOn()
            try await stage.phone.expects(.phone(.connected, "transfers"))
            try await stage.isProved()
        }
    }

    @Test("The photo comes while the app is frozen; resumed for it the app goes on, and tells")
    func frozenTransfer() async throws {
        try await CourierStage.play { stage in
            stage.officeStops()
            try await stage.does("prove 7")
            try await stage.phone.expects(.phone(.transferRuns))
            try await stage.sleeps()
            stage.officeGoesOn()
            try await stage.phone.expects(.phone(.transferEnded))
            try await stage.isProved()
        }
    }

    @Test(
        "A photo whose file is lost at its end is fetched again",
        arguments: [PhoneRules.FinishedDownload.unmovable, .missing])
    func lostFile(rule: PhoneRules.FinishedDownload) async throws {
        var rules = PhoneRules()
        rules.finishedDownload = rule
        try await CourierStage.play(rules: rules) { stage in
            try await stage.does("prove 7")
            _ = try await stage.officeSays("sends /photos/7")
            try await stage.phone.expects(.phone(.transferEnded))
            try await stage.phone.ask(.rules(PhoneRules()))
            try await stage.isProved()
        }
    }

    @Test(
        "A chain that runs out of background time goes on in a background task, or in the next",
        arguments: [false, true])
    func slot(isExpired: Bool) async throws {
        let task = "reprise.chains"
        try await CourierStage.play(slow: isExpired ? 5 : 0) { stage in
            try await stage.phone.offline()
            try await stage.does("prove 7")
            try await stage.sleeps()
            #expect(try await stage.phone.app().tasks.contains { $0.id == task })
            try await stage.phone.memoryPressure()
            try await stage.phone.expects(.phone(.terminated, "memory"))
            try await stage.phone.online()
            try await stage.phone.runBackground(task)
            try await stage.phone.expects(.phone(.taskBegan, task))
            if isExpired {
                try await stage.phone.expireBackground()
                try await stage.phone.expects(.phone(.taskCompleted, "\(task) failure"))
                try await eventually("it has asked for the next") {
                    try await stage.phone.app().tasks.contains { $0.id == task }
                }
                try await stage.phone.runBackground(task)
            }
            try await stage.phone.expects(.phone(.taskCompleted, "\(task) success"))
            // The note is in the journal; it goes out with a connection.
            try await stage.phone.launch()
            try await stage.isProved()
        }
    }
}
