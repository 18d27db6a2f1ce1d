Custom resources behave as the built-in ones do: with status and scale sub-resources, printer columns, generations, warnings about deprecated versions, and field ownership by their schema's markers.
