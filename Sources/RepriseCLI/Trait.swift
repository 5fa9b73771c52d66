#if !Tool
    #error("The tool needs a trait: swift build --traits Tool --product reprise")
#endif
