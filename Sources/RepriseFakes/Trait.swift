#if !Fakes
    #error(
        "RepriseFakes needs the trait Fakes of the package reprise: .package(url: …, traits: [\"Fakes\"])"
    )
#endif
